// SPDX-License-Identifier: MIT
// Threads that turn finished epochs into results beside the lane, so that sorting hits never holds
// up the device. A pool of none runs each task where it is given.
//
//   DecodePool pool(8);
//   pool.Run([&] { Decode(batch); batch.done.store(true); });
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "evidence/base/mutex.h"

namespace keysieve::megakernel {

class DecodePool {
 public:
  explicit DecodePool(uint32_t threads);
  // Finishes what was given.
  ~DecodePool();
  DecodePool(const DecodePool&) = delete;
  DecodePool& operator=(const DecodePool&) = delete;

  uint32_t threads() const { return static_cast<uint32_t>(threads_.size()); }
  // Any thread. What `task` refers to must outlive it; it says itself when it is done.
  void Run(std::function<void()> task);

 private:
  void Work();

  Mutex mutex_;
  CondVar given_;
  std::deque<std::function<void()>> tasks_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::atomic<uint32_t> waiting_{0};  // tasks; looked at for a while before a thread sleeps
  std::vector<std::thread> threads_;
};

}  // namespace keysieve::megakernel
