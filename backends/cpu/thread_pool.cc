// SPDX-License-Identifier: MIT
// A pool whose helpers claim workgroups one at a time.
#include "backends/cpu/thread_pool.h"

#include <algorithm>
#include <system_error>

namespace keysieve::backends {

ThreadPool::ThreadPool(uint32_t threads) {
  if (threads == 0) threads = std::max(1u, std::thread::hardware_concurrency());
  helpers_.reserve(threads - 1);
  for (uint32_t i = 1; i < threads; ++i) {
    try {
      helpers_.emplace_back([this] { Help(); });
    } catch (const std::system_error&) {
      break;  // the host has no more threads: fewer run the same work
    }
  }
}

ThreadPool::~ThreadPool() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    started_.NotifyAll();
  }
  for (std::thread& helper : helpers_) helper.join();
}

void ThreadPool::ParallelFor(uint32_t count, const std::function<void(uint32_t)>& run) {
  if (count <= 1 || helpers_.empty()) {
    for (uint32_t i = 0; i < count; ++i) run(i);
    return;
  }
  {
    MutexLock lock(mutex_);
    next_.store(0);
    run_ = &run;
    count_ = count;
    helping_ = static_cast<uint32_t>(helpers_.size());
    ++round_;
    started_.NotifyAll();
  }
  Drain(run, count);
  MutexLock lock(mutex_);
  while (helping_ > 0) finished_.Wait(mutex_);
  run_ = nullptr;
}

void ThreadPool::Drain(const std::function<void(uint32_t)>& run, uint32_t count) {
  for (uint64_t i = next_.fetch_add(1); i < count; i = next_.fetch_add(1)) {
    run(static_cast<uint32_t>(i));
  }
}

void ThreadPool::Help() {
  uint64_t seen = 0;
  while (true) {
    const std::function<void(uint32_t)>* run = nullptr;
    uint32_t count = 0;
    {
      MutexLock lock(mutex_);
      while (round_ == seen && !stopping_) started_.Wait(mutex_);
      if (stopping_) return;
      seen = round_;
      run = run_;
      count = count_;
    }
    Drain(*run, count);
    MutexLock lock(mutex_);
    if (--helping_ == 0) finished_.NotifyAll();
  }
}

}  // namespace keysieve::backends
