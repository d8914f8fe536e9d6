// SPDX-License-Identifier: MIT
#include "daemon/scheduler/worker_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>

namespace keysieve::scheduler {
namespace {

TEST(WorkerPool, RequestsTakeTurns) {
  std::string order;
  {
    WorkerPool pool(1);
    Mutex gate;
    CondVar opened;
    bool open = false;
    pool.Post(9, [&] {
      MutexLock lock(gate);
      while (!open) opened.Wait(gate);
    });
    for (int i = 0; i < 3; ++i) pool.Post(1, [&] { order += 'a'; });
    pool.Post(2, [&] { order += 'b'; });
    MutexLock lock(gate);
    open = true;
    opened.NotifyAll();
  }
  EXPECT_EQ(order, "abaa");
}

TEST(WorkerPool, FinishesWhatIsQueuedBeforeItEnds) {
  std::atomic<int> done{0};
  {
    WorkerPool pool(3);
    for (uint64_t i = 0; i < 1000; ++i) pool.Post(i % 7, [&] { ++done; });
  }
  EXPECT_EQ(done.load(), 1000);
}

}  // namespace
}  // namespace keysieve::scheduler
