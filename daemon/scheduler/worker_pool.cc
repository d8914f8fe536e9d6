// SPDX-License-Identifier: MIT
// Round robin over requests; see worker_pool.h.
#include "daemon/scheduler/worker_pool.h"

#include <algorithm>
#include <utility>

namespace keysieve::scheduler {

WorkerPool::WorkerPool(uint32_t threads) {
  for (uint32_t i = 0; i < std::max(threads, 1u); ++i) {
    threads_.emplace_back([this] { Run(); });
  }
}

WorkerPool::~WorkerPool() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    ready_.NotifyAll();
  }
  for (std::thread& thread : threads_) thread.join();
}

void WorkerPool::Post(uint64_t request, Task task) {
  MutexLock lock(mutex_);
  std::deque<Task>& mine = tasks_[request];
  if (mine.empty()) turn_.push_back(request);
  mine.push_back(std::move(task));
  ++queued_;
  ready_.NotifyOne();
}

size_t WorkerPool::queued() const {
  MutexLock lock(mutex_);
  return queued_;
}

void WorkerPool::Run() {
  for (;;) {
    Task task;
    {
      MutexLock lock(mutex_);
      while (turn_.empty() && !stopping_) ready_.Wait(mutex_);
      if (turn_.empty()) return;
      const uint64_t request = turn_.front();
      turn_.pop_front();
      const auto it = tasks_.find(request);
      task = std::move(it->second.front());
      it->second.pop_front();
      --queued_;
      if (it->second.empty()) {
        tasks_.erase(it);
      } else {
        turn_.push_back(request);
      }
    }
    task();
  }
}

}  // namespace keysieve::scheduler
