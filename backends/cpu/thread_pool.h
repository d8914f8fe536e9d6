// SPDX-License-Identifier: MIT
// Threads that run the workgroups of one launch. The calling thread works too, so a pool of one has
// no thread of its own.
//
//   ThreadPool pool(8);
//   pool.ParallelFor(workgroups, [&](uint32_t i) { Run(i); });
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include "evidence/base/mutex.h"

namespace keysieve::backends {

class ThreadPool {
 public:
  // `threads` counts the caller; 0 = one per hardware thread.
  explicit ThreadPool(uint32_t threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  uint32_t threads() const { return static_cast<uint32_t>(helpers_.size()) + 1; }

  // Calls run(i) once for each i below `count` and returns after the last. One caller at a time.
  void ParallelFor(uint32_t count, const std::function<void(uint32_t)>& run);

 private:
  void Help();
  void Drain(const std::function<void(uint32_t)>& run, uint32_t count);

  Mutex mutex_;
  CondVar started_;
  CondVar finished_;
  uint64_t round_ ABSL_GUARDED_BY(mutex_) = 0;
  uint32_t helping_ ABSL_GUARDED_BY(mutex_) = 0;  // helpers not yet done with this round
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  const std::function<void(uint32_t)>* run_ ABSL_GUARDED_BY(mutex_) = nullptr;
  uint32_t count_ ABSL_GUARDED_BY(mutex_) = 0;
  std::atomic<uint64_t> next_{0};
  std::vector<std::thread> helpers_;
};

}  // namespace keysieve::backends
