// SPDX-License-Identifier: MIT
// One way to stop a run: a signal, or a test, triggers it; calls in flight are cancelled and
// sleepers wake. Passed in, never global.
//
//   Interrupt interrupt;
//   SignalWatch watch(interrupt);     // main only: SIGINT and SIGTERM
//   auto handle = interrupt.OnTrigger([&] { context.TryCancel(); });
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <thread>

#include "evidence/base/mutex.h"

namespace keysieve::client {

// Any thread may call any member.
class Interrupt {
 public:
  void Trigger();
  bool triggered() const;

  // Sleeps. True, at once, when triggered.
  bool WaitFor(std::chrono::milliseconds duration);

  // Calls `action` when triggered, at once if that has happened, on the triggering thread. The
  // registration ends with the handle; once its destructor returns, the action does not run.
  class Registration {
   public:
    Registration(Interrupt& interrupt, uint64_t id) : interrupt_(interrupt), id_(id) {}
    ~Registration();
    Registration(const Registration&) = delete;
    Registration& operator=(const Registration&) = delete;

   private:
    Interrupt& interrupt_;
    uint64_t id_;
  };
  [[nodiscard]] Registration OnTrigger(std::function<void()> action);

 private:
  mutable Mutex mutex_;
  CondVar changed_;
  bool triggered_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t next_id_ ABSL_GUARDED_BY(mutex_) = 1;
  std::map<uint64_t, std::function<void()>> actions_ ABSL_GUARDED_BY(mutex_);
};

// Turns the first SIGINT or SIGTERM into a Trigger(); a second one ends the process at once. Must
// be made before any other thread is, so that all of them inherit the blocked signals.
class SignalWatch {
 public:
  explicit SignalWatch(Interrupt& interrupt);
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

 private:
  int wake_fds_[2] = {-1, -1};
  std::thread thread_;
};

}  // namespace keysieve::client
