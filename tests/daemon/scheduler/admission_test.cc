// SPDX-License-Identifier: MIT
#include "daemon/scheduler/admission.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <thread>
#include <vector>

#include "daemon/scheduler/worker_pool.h"
#include "evidence/base/status.h"

namespace keysieve::scheduler {
namespace {

using ::testing::HasSubstr;

// Grants run when the test says so.
struct Later {
  std::vector<std::function<void()>> tasks;
  Admission::Executor executor() {
    return [this](std::function<void()> task) { tasks.push_back(std::move(task)); };
  }
  void Run() {
    auto now = std::move(tasks);
    tasks.clear();
    for (auto& task : now) task();
  }
};

TEST(Admission, GrantsWhatFitsAtOnceAndGivesItBack) {
  Later later;
  const auto shared = std::make_shared<Admission>(100, later.executor());
  Admission& admission = *shared;
  {
    auto answer = admission.Reserve(60, nullptr);
    ASSERT_TRUE(answer.ok());
    EXPECT_TRUE(answer->now.held());
    EXPECT_EQ(admission.in_use_bytes(), 60u);
    answer->now.Shrink(10);
    EXPECT_EQ(admission.in_use_bytes(), 10u);
    answer->now.Shrink(50);
    EXPECT_EQ(admission.in_use_bytes(), 10u);
  }
  EXPECT_EQ(admission.in_use_bytes(), 0u);
}

TEST(Admission, RefusesTheImpossibleAtOnce) {
  Later later;
  const auto shared = std::make_shared<Admission>(100, later.executor());
  Admission& admission = *shared;
  const auto answer = admission.Reserve(101, nullptr);
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(Message(answer.status()), HasSubstr("101"));
}

TEST(Admission, ServesInOrderOfArrivalSoThatALargeOneCannotStarve) {
  Later later;
  const auto shared = std::make_shared<Admission>(100, later.executor());
  Admission& admission = *shared;
  std::vector<int> order;
  std::vector<Reservation> kept;
  auto first = std::optional(*admission.Reserve(80, nullptr));
  auto large = admission.Reserve(100, [&](Reservation r) {
    order.push_back(1);
    kept.push_back(std::move(r));
  });
  // It would fit, but the large one came first.
  auto small = admission.Reserve(1, [&](Reservation r) {
    order.push_back(2);
    kept.push_back(std::move(r));
  });
  EXPECT_FALSE(large->now.held());
  EXPECT_FALSE(small->now.held());
  EXPECT_EQ(admission.waiting(), 2u);
  first.reset();
  later.Run();
  EXPECT_THAT(order, ::testing::ElementsAre(1));
  kept.clear();
  later.Run();
  EXPECT_THAT(order, ::testing::ElementsAre(1, 2));
}

TEST(Admission, ACancelledWaiterMakesWayForThoseBehindIt) {
  Later later;
  const auto shared = std::make_shared<Admission>(100, later.executor());
  Admission& admission = *shared;
  auto held = *admission.Reserve(50, nullptr);
  auto large = admission.Reserve(80, [](Reservation) { FAIL(); });
  bool granted = false;
  auto small = admission.Reserve(20, [&](Reservation r) { granted = r.held(); });
  EXPECT_TRUE(admission.Cancel(large->ticket));
  later.Run();
  EXPECT_TRUE(granted);
  EXPECT_FALSE(admission.Cancel(small->ticket));
  EXPECT_FALSE(admission.Cancel(large->ticket));
  EXPECT_EQ(admission.in_use_bytes(), 50u);
}

TEST(Admission, NeverExceedsItsLimitUnderManyThreads) {
  WorkerPool pool(2);
  const auto shared = std::make_shared<Admission>(
      1000, [&](std::function<void()> task) { pool.Post(0, std::move(task)); });
  Admission& admission = *shared;
  std::atomic<int> granted{0};
  std::atomic<bool> over{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) {
        const auto use = [&](Reservation r) {
          if (admission.in_use_bytes() > 1000 || !r.held()) over = true;
          ++granted;
        };
        auto answer = admission.Reserve(static_cast<uint64_t>((t * 37 + i * 11) % 1000 + 1), use);
        if (answer->now.held()) use(std::move(answer->now));
      }
    });
  }
  for (auto& thread : threads) thread.join();
  while (granted.load() < 800) std::this_thread::yield();
  EXPECT_FALSE(over.load());
  EXPECT_EQ(admission.waiting(), 0u);
}

}  // namespace
}  // namespace keysieve::scheduler
