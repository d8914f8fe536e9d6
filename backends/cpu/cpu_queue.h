// SPDX-License-Identifier: MIT
// The CPU device's queue: one worker runs submissions in order and remembers when each was done.
// The queue owns its thread and its pool through a shared state, so that an abandoned device can
// leave a stuck kernel behind without waiting for it.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <thread>
#include <unordered_map>

#include "backends/cpu/host_work.h"
#include "backends/cpu/thread_pool.h"
#include "backends/device.h"
#include "evidence/base/mutex.h"

namespace keysieve::backends {

class CpuQueue {
 public:
  explicit CpuQueue(uint32_t threads);
  // Runs what was submitted and joins, unless Leave() came first.
  ~CpuQueue();
  CpuQueue(const CpuQueue&) = delete;
  CpuQueue& operator=(const CpuQueue&) = delete;

  uint32_t threads() const { return threads_; }

  Ticket Push(HostWork work);
  bool Done(Ticket ticket) const;
  bool Pending(Ticket ticket) const;  // issued and not yet taken by Take()
  // The ticket's times once it has run; nothing if `deadline` passes first.
  std::optional<StageTimes> Take(Ticket ticket, Clock::time_point deadline);
  // Forgets what has not begun; the destructor then leaves the worker to itself.
  void Leave();

 private:
  struct Job {
    Ticket ticket = 0;
    HostWork work;
    Clock::time_point submitted;
  };
  struct State {
    explicit State(uint32_t threads) : pool(threads) {}
    mutable Mutex mutex;
    CondVar queued;
    CondVar completed;
    std::deque<Job> jobs ABSL_GUARDED_BY(mutex);
    Ticket issued ABSL_GUARDED_BY(mutex) = 0;
    Ticket done ABSL_GUARDED_BY(mutex) = 0;  // every ticket up to this one
    std::unordered_map<Ticket, std::optional<StageTimes>> open ABSL_GUARDED_BY(mutex);
    bool stopping ABSL_GUARDED_BY(mutex) = false;
    ThreadPool pool;
  };
  static void Work(const std::shared_ptr<State>& state);
  static StageTimes Run(const Job& job, ThreadPool& pool);

  const std::shared_ptr<State> state_;
  const uint32_t threads_;
  bool left_ = false;
  std::thread worker_;
};

}  // namespace keysieve::backends
