// SPDX-License-Identifier: MIT
#include "megakernel/session/decode_pool.h"

#include <chrono>
#include <utility>

namespace keysieve::megakernel {

namespace {
constexpr std::chrono::microseconds kPatience{100};
}  // namespace

DecodePool::DecodePool(uint32_t threads) {
  for (uint32_t i = 0; i < threads; ++i) threads_.emplace_back([this] { Work(); });
}

DecodePool::~DecodePool() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    given_.NotifyAll();
  }
  for (std::thread& thread : threads_) thread.join();
}

void DecodePool::Run(std::function<void()> task) {
  if (threads_.empty()) {
    task();
    return;
  }
  MutexLock lock(mutex_);
  waiting_.fetch_add(1, std::memory_order_relaxed);
  tasks_.push_back(std::move(task));
  given_.NotifyOne();
}

void DecodePool::Work() {
  while (true) {
    // Under load the next task is near, and waking a thread costs more than it waits.
    const auto patience = std::chrono::steady_clock::now() + kPatience;
    while (waiting_.load(std::memory_order_relaxed) == 0 &&
           std::chrono::steady_clock::now() < patience) {
      std::this_thread::yield();
    }
    std::function<void()> task;
    {
      MutexLock lock(mutex_);
      while (tasks_.empty() && !stopping_) given_.Wait(mutex_);
      if (tasks_.empty()) return;
      task = std::move(tasks_.front());
      tasks_.pop_front();
      waiting_.fetch_sub(1, std::memory_order_relaxed);
    }
    task();
  }
}

}  // namespace keysieve::megakernel
