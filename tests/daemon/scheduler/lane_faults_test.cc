// SPDX-License-Identifier: MIT
// Devices that fail: one retry, then the CPU route, quarantine for the lost; hits are never the
// worse for it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "daemon/scheduler/lane.h"
#include "tests/daemon/scheduler/fake_session.h"

namespace keysieve::scheduler {
namespace {

using ::testing::HasSubstr;

const std::vector<Literal> kLiterals = {{"abc", false}, {"aa", false}};
const megakernel::Geometry kGeometry = {.batches = 3, .batch_bytes = 64 << 10};

struct Bench {
  Bench() {
    for (auto* script : {&gpu_script, &cpu_script}) table = (*script)->AddTable("t", kLiterals);
    cpu = std::make_unique<Lane>(LaneOptions{}, FakeOpener(cpu_script, kGeometry), nullptr);
    EXPECT_TRUE(cpu->Start().ok());
    LaneOptions options;
    options.identity.backend = backends::BackendKind::kVulkan;
    options.recorder = &recorder;
    options.hang_after = std::chrono::milliseconds(50);
    gpu = std::make_unique<Lane>(options, FakeOpener(gpu_script, kGeometry), cpu.get());
    EXPECT_TRUE(gpu->Start().ok());
  }
  void Fate(std::function<absl::Status(uint64_t)> fate) {
    MutexLock lock(gpu_script->mutex);
    gpu_script->fate = std::move(fate);
  }
  uint64_t retried() {
    MutexLock lock(gpu_script->mutex);
    return gpu_script->retried;
  }
  // Scans many blobs, a large one among them, and checks every hit.
  int ScanAll(int count) {
    std::mt19937 random(3);
    std::vector<std::pair<std::string, Waiting>> blobs;
    for (int i = 0; i < count; ++i) {
      std::string text(i == count / 2 ? 300'000 : random() % 2000, 0);
      for (char& c : text) c = "abc "[random() % 4];
      blobs.emplace_back(std::move(text), Waiting());
    }
    for (size_t i = 0; i < blobs.size(); ++i) {
      gpu->Submit(blobs[i].second.Job(blobs[i].first, table, i % 3));
    }
    int recovered = 0;
    for (auto& [text, waiting] : blobs) {
      const MatchOutcome outcome = waiting.Get();
      EXPECT_TRUE(outcome.status.ok()) << outcome.status;
      EXPECT_EQ(outcome.hits, NaiveHits(AsBytes(text), kLiterals));
      EXPECT_EQ(outcome.recovered, outcome.route == backends::BackendKind::kCpu);
      recovered += outcome.recovered ? 1 : 0;
    }
    gpu->Stop();
    cpu->Stop();
    for (auto& [text, waiting] : blobs) EXPECT_EQ(waiting.calls(), 1);
    return recovered;
  }

  std::shared_ptr<FakeScript> gpu_script = std::make_shared<FakeScript>();
  std::shared_ptr<FakeScript> cpu_script = std::make_shared<FakeScript>();
  std::shared_ptr<const megakernel::Table> table;
  CountingRecorder recorder;
  std::unique_ptr<Lane> cpu, gpu;
};

TEST(LaneFaults, OneFaultIsRetriedOnTheDevice) {
  Bench b;
  b.Fate([](uint64_t n) { return n == 0 ? absl::InternalError("dispatch") : absl::OkStatus(); });
  EXPECT_EQ(b.ScanAll(30), 0);
  EXPECT_EQ(b.retried(), 1u);
  EXPECT_EQ(b.recorder.recoveries.load(), 0u);
  EXPECT_EQ(b.gpu->status().state, LaneState::kOpen);
}

TEST(LaneFaults, TheSecondFaultSendsTheBytesThroughTheCpuRoute) {
  Bench b;
  // The first blob's batch fails, and so does its retry.
  std::atomic<int> failures{0};
  b.Fate([&](uint64_t) {
    return failures++ < 2 ? absl::InternalError("dispatch") : absl::OkStatus();
  });
  Waiting waiting;
  b.gpu->Submit(waiting.Job("xabcx", b.table));
  const MatchOutcome outcome = waiting.Get();
  EXPECT_TRUE(outcome.recovered);
  EXPECT_EQ(outcome.route, backends::BackendKind::kCpu);
  EXPECT_THAT(outcome.route_reason, HasSubstr("vulkan:0 failed twice: dispatch"));
  ASSERT_EQ(outcome.hits.size(), 1u);
  b.gpu->Stop();
  b.cpu->Stop();
  EXPECT_EQ(b.retried(), 1u);
  EXPECT_EQ(b.recorder.recoveries.load(), 1u);
  EXPECT_EQ(b.gpu->status().state, LaneState::kOpen);
}

TEST(LaneFaults, ALostDeviceIsQuarantinedAndNothingIsLost) {
  Bench b;
  b.Fate([](uint64_t n) { return n == 2 ? absl::DataLossError("gone") : absl::OkStatus(); });
  EXPECT_GT(b.ScanAll(60), 0);
  EXPECT_EQ(b.gpu->status().state, LaneState::kQuarantined);
  EXPECT_EQ(b.gpu->status().reason, "gone");
  EXPECT_TRUE(b.gpu->abandoned());
  EXPECT_EQ(b.recorder.quarantines.load(), 1u);
  MutexLock lock(b.gpu_script->mutex);
  EXPECT_FALSE(b.gpu_script->shut_down);  // nothing touches it again
}

TEST(LaneFaults, ADeviceThatNeverAnswersIsQuarantined) {
  Bench b;
  {
    MutexLock lock(b.gpu_script->mutex);
    b.gpu_script->may_finish = [] { return false; };
  }
  EXPECT_GT(b.ScanAll(10), 0);
  EXPECT_EQ(b.gpu->status().state, LaneState::kQuarantined);
}

TEST(LaneFaults, ADeviceThatKeepsFailingIsQuarantined) {
  Bench b;
  b.Fate([](uint64_t) { return absl::InternalError("dispatch"); });
  EXPECT_EQ(b.ScanAll(300), 300);
  EXPECT_EQ(b.gpu->status().state, LaneState::kQuarantined);
  EXPECT_THAT(b.gpu->status().reason, HasSubstr("3 batches in a row failed twice"));
}

TEST(LaneFaults, ASubmitThatFailsIsRetriedToo) {
  Bench b;
  std::atomic<int> failures{0};
  {
    MutexLock lock(b.gpu_script->mutex);
    b.gpu_script->submit_fate = [&](uint64_t) {
      return failures++ == 0 ? absl::InternalError("submit") : absl::OkStatus();
    };
  }
  EXPECT_EQ(b.ScanAll(20), 0);
  EXPECT_EQ(b.retried(), 1u);
}

TEST(LaneFaults, RandomFaultsNeverChangeAHit) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    Bench b;
    auto random = std::make_shared<std::mt19937>(seed);
    b.Fate([random](uint64_t) {
      const auto r = (*random)() % 40;
      if (r == 0) return absl::DataLossError("gone");
      return r < 12 ? absl::InternalError("dispatch") : absl::OkStatus();
    });
    b.ScanAll(80);
  }
}

TEST(LaneFaults, TextThatNeedsMoreMemoryThanThereIsNeverQuarantinesTheDevice) {
  Bench b;
  b.Fate([](uint64_t) { return absl::ResourceExhaustedError("no room for the hits"); });
  EXPECT_EQ(b.ScanAll(300), 300);  // on the CPU route, all of them
  EXPECT_EQ(b.gpu->status().state, LaneState::kOpen);
  EXPECT_EQ(b.retried(), 0u);
}

TEST(LaneFaults, OnlyBatchesThatFailedCountAsRecovered) {
  Bench b;
  {
    MutexLock lock(b.gpu_script->mutex);
    b.gpu_script->may_finish = [] { return false; };
  }
  // One batch in flight hangs; what waits behind it was never on the device.
  Waiting first;
  b.gpu->Submit(first.Job("abc", b.table));
  EXPECT_TRUE(first.Get().recovered);
  Waiting later;
  b.gpu->Submit(later.Job("abc", b.table));
  EXPECT_TRUE(later.Get().recovered);
  b.gpu->Stop();
  b.cpu->Stop();
  EXPECT_EQ(b.recorder.recoveries.load(), 1u);
  EXPECT_EQ(b.recorder.residual.load(), 1u);
  EXPECT_EQ(b.recorder.quarantines.load(), 1u);
}

TEST(LaneFaults, WithNoCpuRouteTheJobSaysSo) {
  auto script = std::make_shared<FakeScript>();
  const auto table = script->AddTable("t", kLiterals);
  {
    MutexLock lock(script->mutex);
    script->fate = [](uint64_t) { return absl::InternalError("dispatch"); };
  }
  Lane lane(LaneOptions{}, FakeOpener(script, kGeometry), nullptr);
  ASSERT_TRUE(lane.Start().ok());
  Waiting waiting;
  lane.Submit(waiting.Job("abc", table));
  EXPECT_EQ(waiting.Get().status.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(lane.status().state, LaneState::kOpen);
}

}  // namespace
}  // namespace keysieve::scheduler
