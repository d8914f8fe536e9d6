// SPDX-License-Identifier: MIT
// What operators order of a lane, and what becomes of one whose device never returns from a call.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/scheduler/scheduler.h"
#include "tests/daemon/scheduler/fake_session.h"

namespace keysieve::scheduler {
namespace {

using ::testing::HasSubstr;

const std::vector<Literal> kLiterals = {{"abc", false}};
const megakernel::Geometry kGeometry = {.batches = 2, .batch_bytes = 64 << 10};

// Waits for an order's answer.
class Answer {
 public:
  Lane::Done Take() {
    return [state = state_](absl::Status status) {
      MutexLock lock(state->mutex);
      state->status = std::move(status);
      ++state->calls;
      state->ready.NotifyAll();
    };
  }
  absl::Status Get() {
    MutexLock lock(state_->mutex);
    while (state_->calls == 0) state_->ready.Wait(state_->mutex);
    return state_->status;
  }

 private:
  struct State {
    Mutex mutex;
    CondVar ready;
    int calls ABSL_GUARDED_BY(mutex) = 0;
    absl::Status status ABSL_GUARDED_BY(mutex);
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

struct Bench {
  Bench() {
    for (auto* script : {&gpu_script, &cpu_script}) table = (*script)->AddTable("t", kLiterals);
    auto cpu_lane =
        std::make_unique<Lane>(LaneOptions{}, FakeOpener(cpu_script, kGeometry), nullptr);
    EXPECT_TRUE(cpu_lane->Start().ok());
    cpu = cpu_lane.get();
    LaneOptions options;
    options.identity.backend = backends::BackendKind::kVulkan;
    options.identity.uuid = "00112233";
    options.recorder = &recorder;
    options.hang_after = std::chrono::milliseconds(100);
    auto gpu_lane = std::make_unique<Lane>(options, Opener(), cpu);
    EXPECT_TRUE(gpu_lane->Start().ok());
    gpu = gpu_lane.get();
    std::vector<std::unique_ptr<Lane>> lanes;
    lanes.push_back(std::move(gpu_lane));
    scheduler = std::make_unique<Scheduler>(std::move(lanes), std::move(cpu_lane));
  }
  LaneOpener Opener() {
    return [this]() -> absl::StatusOr<LaneParts> {
      ++opened;
      if (!opens.load()) return absl::UnavailableError("no driver");
      return FakeOpener(gpu_script, kGeometry)();
    };
  }
  MatchOutcome ScanOne() {
    Waiting waiting;
    scheduler->Submit(waiting.Job("xabcx", table));
    MatchOutcome outcome = waiting.Get();
    EXPECT_EQ(outcome.hits.size(), 1u);
    return outcome;
  }
  absl::Status Quarantine(const std::string& device) {
    Answer answer;
    scheduler->Quarantine(device, "maintenance", answer.Take());
    return answer.Get();
  }
  absl::Status Resume(const std::string& device) {
    Answer answer;
    scheduler->Resume(device, answer.Take());
    return answer.Get();
  }

  std::shared_ptr<FakeScript> gpu_script = std::make_shared<FakeScript>();
  std::shared_ptr<FakeScript> cpu_script = std::make_shared<FakeScript>();
  std::shared_ptr<const megakernel::Table> table;
  CountingRecorder recorder;
  std::atomic<int> opened{0};
  std::atomic<bool> opens{true};
  Lane* gpu = nullptr;
  Lane* cpu = nullptr;
  std::unique_ptr<Scheduler> scheduler;  // ends before what it uses
};

TEST(LaneOrders, AQuarantinedDeviceIsClosedAndItsWorkTakesTheCpuRouteUntilItIsResumed) {
  Bench b;
  EXPECT_FALSE(b.ScanOne().recovered);
  ASSERT_TRUE(b.Quarantine("vulkan:0").ok());
  EXPECT_EQ(b.gpu->status().state, LaneState::kQuarantined);
  EXPECT_EQ(b.gpu->status().reason, "maintenance");
  EXPECT_EQ(b.gpu->status().resident_bytes, 0u);
  EXPECT_FALSE(b.gpu->abandoned());
  EXPECT_TRUE(b.scheduler->any_accelerator_down());
  {
    MutexLock lock(b.gpu_script->mutex);
    EXPECT_TRUE(b.gpu_script->shut_down);
  }
  const MatchOutcome outcome = b.ScanOne();
  EXPECT_TRUE(outcome.recovered);
  EXPECT_THAT(outcome.route_reason, HasSubstr("vulkan:0 takes no work: maintenance"));
  ASSERT_TRUE(b.Resume("00112233").ok());
  EXPECT_EQ(b.gpu->status().state, LaneState::kOpen);
  EXPECT_FALSE(b.ScanOne().recovered);
  EXPECT_EQ(b.opened.load(), 2);
  EXPECT_EQ(b.recorder.quarantines.load(), 1u);
  EXPECT_EQ(b.recorder.recoveries.load(), 0u);  // nothing failed
}

TEST(LaneOrders, QuarantineLetsBatchesUnderWayEndAndSendsTheRestOn) {
  Bench b;
  auto go = std::make_shared<std::atomic<bool>>(false);
  {
    MutexLock lock(b.gpu_script->mutex);
    b.gpu_script->may_finish = [go] { return go->load(); };
  }
  std::string large(1 << 20, 'x');
  large += "abc";
  Waiting small, big;
  b.gpu->Submit(small.Job("abc", b.table, 1));
  b.gpu->Submit(big.Job(large, b.table, 2));
  Answer answer;
  b.gpu->Quarantine("maintenance", answer.Take());
  go->store(true);
  EXPECT_TRUE(answer.Get().ok());
  EXPECT_EQ(small.Get().hits.size(), 1u);
  EXPECT_EQ(big.Get().hits.size(), 1u);
  EXPECT_TRUE(big.Get().recovered);
  EXPECT_EQ(small.calls() + big.calls(), 2);
}

TEST(LaneOrders, BadNamesAndTheLastRouteAreRefused) {
  Bench b;
  const absl::Status unknown = b.Quarantine("cuda:3");
  EXPECT_EQ(unknown.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(Message(unknown), HasSubstr("there are: vulkan:0, cpu:0"));
  EXPECT_EQ(b.Quarantine("cpu").code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(b.Resume("vulkan").ok());  // it is open
  EXPECT_EQ(b.opened.load(), 1);
}

TEST(LaneOrders, ADeviceThatDidNotOpenIsOpenedByResume) {
  Bench b;
  ASSERT_TRUE(b.Quarantine("vulkan").ok());
  b.opens = false;
  EXPECT_EQ(b.Resume("vulkan").code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(b.gpu->status().state, LaneState::kFailedToOpen);
  EXPECT_EQ(b.gpu->status().reason, "no driver");
  EXPECT_TRUE(b.ScanOne().recovered);
  b.opens = true;
  EXPECT_TRUE(b.Resume("vulkan").ok());
  EXPECT_FALSE(b.ScanOne().recovered);
}

TEST(LaneOrders, AnAbandonedDeviceIsNotResumed) {
  Bench b;
  {
    MutexLock lock(b.gpu_script->mutex);
    b.gpu_script->fate = [](uint64_t) { return absl::DataLossError("gone"); };
  }
  EXPECT_TRUE(b.ScanOne().recovered);
  EXPECT_TRUE(b.gpu->status().abandoned);
  const absl::Status status = b.Resume("vulkan");
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(status), HasSubstr("restart"));
  EXPECT_TRUE(b.Quarantine("vulkan").ok());  // it is
  EXPECT_EQ(b.gpu->status().reason, "gone");
}

TEST(LaneOrders, ACallThatNeverReturnsCostsTheDeviceButNoScan) {
  Bench b;
  auto go = std::make_shared<std::atomic<bool>>(false);
  auto inside = std::make_shared<std::atomic<bool>>(false);
  {
    MutexLock lock(b.gpu_script->mutex);
    b.gpu_script->before_next = [go, inside] {
      inside->store(true);
      inside->notify_all();
      go->wait(false);
    };
  }
  std::vector<Waiting> all(50);
  for (uint64_t i = 0; i < all.size(); ++i) b.scheduler->Submit(all[i].Job("xabc", b.table, i));
  inside->wait(false);  // an order that comes earlier would still be obeyed
  Answer order;
  b.gpu->Resume(order.Take());
  while (!b.gpu->abandoned()) b.scheduler->Supervise();
  for (Waiting& waiting : all) {
    const MatchOutcome outcome = waiting.Get();
    EXPECT_TRUE(outcome.recovered);
    EXPECT_EQ(outcome.hits.size(), 1u);
    EXPECT_THAT(outcome.route_reason, HasSubstr("has not returned for 100 ms"));
  }
  EXPECT_EQ(order.Get().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(b.gpu->status().state, LaneState::kQuarantined);
  EXPECT_EQ(b.gpu->status().queued_blobs, 0u);
  EXPECT_TRUE(b.ScanOne().recovered);
  b.scheduler->Stop();  // does not wait for the stuck call
  EXPECT_EQ(b.recorder.quarantines.load(), 1u);
  EXPECT_EQ(b.recorder.faults.load(), 1u);
  go->store(true);
  go->notify_all();
  b.scheduler.reset();
  for (Waiting& waiting : all) EXPECT_EQ(waiting.calls(), 1);
  MutexLock lock(b.gpu_script->mutex);
  EXPECT_FALSE(b.gpu_script->shut_down);  // nothing touches it again
}

TEST(LaneOrders, ALaneWithoutWorkIsNeverCalledStuck) {
  Bench b;
  EXPECT_FALSE(b.ScanOne().recovered);
  std::this_thread::sleep_for(std::chrono::milliseconds(250));  // past hang_after, asleep
  b.scheduler->Supervise();
  EXPECT_FALSE(b.gpu->abandoned());
}

}  // namespace
}  // namespace keysieve::scheduler
