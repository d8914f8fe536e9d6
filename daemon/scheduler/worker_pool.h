// SPDX-License-Identifier: MIT
// Threads that confirm hits and build replies. Work is queued by request and requests take turns,
// so that a scan of one small blob does not wait behind the thousand blobs of another.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <thread>
#include <unordered_map>
#include <vector>

#include "evidence/base/mutex.h"

namespace keysieve::scheduler {

class WorkerPool {
 public:
  using Task = std::function<void()>;

  // `threads` of at least 1.
  explicit WorkerPool(uint32_t threads);
  // Runs what is queued, then joins.
  ~WorkerPool();

  // Never blocks. Tasks of one request start in order. Tasks must not throw.
  void Post(uint64_t request, Task task);
  size_t queued() const;
  uint32_t threads() const { return static_cast<uint32_t>(threads_.size()); }

 private:
  void Run();

  mutable Mutex mutex_;
  CondVar ready_;
  std::unordered_map<uint64_t, std::deque<Task>> tasks_ ABSL_GUARDED_BY(mutex_);
  std::deque<uint64_t> turn_ ABSL_GUARDED_BY(mutex_);  // requests with tasks, each once
  size_t queued_ ABSL_GUARDED_BY(mutex_) = 0;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace keysieve::scheduler
