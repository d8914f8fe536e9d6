// SPDX-License-Identifier: MIT
#include "daemon/scheduler/scheduler.h"

#include <gtest/gtest.h>

#include "tests/daemon/scheduler/fake_session.h"

namespace keysieve::scheduler {
namespace {

const std::vector<Literal> kLiterals = {{"abc", false}};

std::unique_ptr<Lane> MakeLane(std::shared_ptr<FakeScript> script, int index, Matcher* recovery) {
  LaneOptions options;
  options.identity.backend = backends::BackendKind::kCuda;
  options.identity.index = index;
  auto lane = std::make_unique<Lane>(options, FakeOpener(script, {.batches = 1}), recovery);
  EXPECT_TRUE(lane->Start().ok());
  return lane;
}

TEST(Scheduler, SpreadsWorkOverTheOpenLanes) {
  std::shared_ptr<FakeScript> scripts[2] = {std::make_shared<FakeScript>(),
                                            std::make_shared<FakeScript>()};
  auto go = std::make_shared<std::atomic<bool>>(false);
  std::shared_ptr<const megakernel::Table> table;
  std::vector<std::unique_ptr<Lane>> lanes;
  for (int i = 0; i < 2; ++i) {
    table = scripts[i]->AddTable("t", kLiterals);
    MutexLock lock(scripts[i]->mutex);
    scripts[i]->may_finish = [go] { return go->load(); };
  }
  for (int i = 0; i < 2; ++i) lanes.push_back(MakeLane(scripts[i], i, nullptr));
  Scheduler scheduler(std::move(lanes), nullptr);
  std::vector<Waiting> all(10);
  for (auto& waiting : all) scheduler.Submit(waiting.Job("xabc", table));
  go->store(true);
  for (auto& waiting : all) EXPECT_EQ(waiting.Get().hits.size(), 1u);
  scheduler.Stop();
  for (auto& script : scripts) {
    MutexLock lock(script->mutex);
    EXPECT_GT(script->submitted, 0u);
  }
}

TEST(Scheduler, WithEveryLaneGoneTheCpuRouteDoesTheWork) {
  auto lost = std::make_shared<FakeScript>();
  auto cpu_script = std::make_shared<FakeScript>();
  const auto table = lost->AddTable("t", kLiterals);
  cpu_script->AddTable("t", kLiterals);
  {
    MutexLock lock(lost->mutex);
    lost->fate = [](uint64_t) { return absl::DataLossError("gone"); };
  }
  auto cpu = std::make_unique<Lane>(LaneOptions{}, FakeOpener(cpu_script, {}), nullptr);
  ASSERT_TRUE(cpu->Start().ok());
  std::vector<std::unique_ptr<Lane>> lanes;
  lanes.push_back(MakeLane(lost, 0, cpu.get()));
  Scheduler scheduler(std::move(lanes), std::move(cpu));
  for (int i = 0; i < 5; ++i) {
    Waiting waiting;
    scheduler.Submit(waiting.Job("xabc", table));
    const MatchOutcome outcome = waiting.Get();
    EXPECT_TRUE(outcome.recovered);
    EXPECT_EQ(outcome.hits.size(), 1u);
  }
  EXPECT_TRUE(scheduler.any_open());
  EXPECT_TRUE(scheduler.any_abandoned());
  ASSERT_EQ(scheduler.status().size(), 2u);
  EXPECT_EQ(scheduler.status()[0].state, LaneState::kQuarantined);
}

}  // namespace
}  // namespace keysieve::scheduler
