// SPDX-License-Identifier: MIT
#include "megakernel/session/decode_pool.h"

#include <utility>

namespace keysieve::megakernel {

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
  tasks_.push_back(std::move(task));
  given_.NotifyOne();
}

void DecodePool::Work() {
  while (true) {
    std::function<void()> task;
    {
      MutexLock lock(mutex_);
      while (tasks_.empty() && !stopping_) given_.Wait(mutex_);
      if (tasks_.empty()) return;
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    task();
  }
}

}  // namespace keysieve::megakernel
