// SPDX-License-Identifier: MIT
// A lane over a fake session: every hit exactly once, however blobs are packed and cut.
#include "daemon/scheduler/lane.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/daemon/scheduler/fake_session.h"

namespace keysieve::scheduler {
namespace {

const std::vector<Literal> kLiterals = {
    {"abc", false}, {"BCA", true}, {"aaaa", false}, {"c", false}};

std::string RandomText(std::mt19937& random, size_t bytes) {
  std::string text(bytes, 0);
  for (char& c : text) c = "abcABC \n"[random() % 8];
  return text;
}

struct Bench {
  explicit Bench(megakernel::Geometry geometry = {.batches = 3, .batch_bytes = 64 << 10}) {
    lane = std::make_unique<Lane>(LaneOptions{}, FakeOpener(script, geometry), nullptr);
    EXPECT_TRUE(lane->Start().ok());
  }
  std::shared_ptr<FakeScript> script = std::make_shared<FakeScript>();
  std::shared_ptr<const megakernel::Table> table = script->AddTable("t", kLiterals);
  std::unique_ptr<Lane> lane;
};

TEST(Lane, EveryHitOfEveryBlobComesBackOnceWhateverItsSize) {
  Bench b;
  std::mt19937 random(7);
  std::vector<std::pair<std::string, Waiting>> blobs;
  for (int i = 0; i < 60; ++i) {
    const size_t bytes = i % 10 == 0 ? 200'000 + random() % 1000 : random() % 3000;
    blobs.emplace_back(RandomText(random, bytes), Waiting());
  }
  for (size_t i = 0; i < blobs.size(); ++i) {
    b.lane->Submit(blobs[i].second.Job(blobs[i].first, b.table, i % 5));
  }
  for (auto& [text, waiting] : blobs) {
    const MatchOutcome outcome = waiting.Get();
    ASSERT_TRUE(outcome.status.ok());
    EXPECT_EQ(outcome.hits, NaiveHits(AsBytes(text), kLiterals)) << text.size();
    EXPECT_FALSE(outcome.recovered);
  }
  b.lane->Stop();
  for (auto& [text, waiting] : blobs) EXPECT_EQ(waiting.calls(), 1);
  MutexLock lock(b.script->mutex);
  EXPECT_GT(b.script->max_in_flight, 1u);
  EXPECT_TRUE(b.script->shut_down);
}

TEST(Lane, AHitAcrossACutIsReportedOnce) {
  // The literal straddles every place a cut can be.
  Bench b({.batches = 2, .batch_bytes = 64 << 10});
  std::string text;
  while (text.size() < 300'000) text += "aaaa";
  Waiting waiting;
  b.lane->Submit(waiting.Job(text, b.table));
  const MatchOutcome outcome = waiting.Get();
  EXPECT_EQ(outcome.hits.size(), text.size() - 3);
  EXPECT_EQ(outcome.hits, NaiveHits(AsBytes(text), kLiterals));
}

TEST(Lane, AnEmptyBlobHasNoHits) {
  Bench b;
  Waiting waiting;
  b.lane->Submit(waiting.Job("", b.table));
  EXPECT_TRUE(waiting.Get().status.ok());
  EXPECT_TRUE(waiting.Get().hits.empty());
}

TEST(Lane, LearnsHowManyPiecesTheSessionTakes) {
  Bench b;
  {
    MutexLock lock(b.script->mutex);
    b.script->max_pieces = 3;
  }
  std::vector<Waiting> all(40);
  for (auto& waiting : all) b.lane->Submit(waiting.Job("xxabcxx", b.table));
  for (auto& waiting : all) EXPECT_EQ(waiting.Get().hits.size(), 2u);
}

TEST(Lane, ASmallRequestDoesNotWaitForALargeOneToEnd) {
  Bench b;
  Waiting large, small;
  std::atomic<bool> large_done_first{false};
  auto big = large.Job(std::string(4 << 20, 'x'), b.table, 1);
  auto tiny = small.Job("abc", b.table, 2);
  tiny.done = [&, inner = tiny.done](MatchOutcome outcome) {
    large_done_first = large.calls() > 0;
    inner(std::move(outcome));
  };
  b.lane->Submit(std::move(big));
  b.lane->Submit(std::move(tiny));
  EXPECT_EQ(small.Get().hits.size(), 2u);
  EXPECT_TRUE(large.Get().status.ok());
  EXPECT_FALSE(large_done_first.load());
}

TEST(Lane, CancellationEndsAJobBetweenItsBatches) {
  Bench b;
  auto go = std::make_shared<std::atomic<bool>>(false);
  {
    MutexLock lock(b.script->mutex);
    b.script->may_finish = [go] { return go->load(); };
  }
  auto cancelled = std::make_shared<std::atomic<bool>>(false);
  Waiting waiting, other;
  auto job = waiting.Job(std::string(8 << 20, 'x'), b.table, 1);
  job.cancelled = cancelled;
  b.lane->Submit(std::move(job));
  b.lane->Submit(other.Job("abc", b.table, 2));
  cancelled->store(true);
  EXPECT_EQ(waiting.Get().status.code(), absl::StatusCode::kCancelled);
  go->store(true);
  EXPECT_EQ(other.Get().hits.size(), 2u);
  b.lane->Stop();
  EXPECT_EQ(waiting.calls(), 1);
  MutexLock lock(b.script->mutex);
  EXPECT_LT(b.script->submitted, 20u);  // of the 128 the whole blob would have taken
}

TEST(Lane, FreesABlobsBytesWhenItIsDone) {
  Bench b;
  Waiting waiting;
  auto job = waiting.Job("abc", b.table);
  std::weak_ptr<const void> bytes = job.owner;
  b.lane->Submit(std::move(job));
  waiting.Get();
  EXPECT_TRUE(bytes.expired());
}

TEST(Lane, ATableThatFitsNoArenaFailsItsJobsOnly) {
  Bench b({.batches = 2, .batch_bytes = 64 << 10, .table_bytes = 2048});
  const auto huge = b.script->AddTable("huge", kLiterals, 4096);
  Waiting bad, good;
  b.lane->Submit(bad.Job("abc", huge, 1));
  b.lane->Submit(good.Job("abc", b.table, 2));
  EXPECT_EQ(bad.Get().status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(good.Get().hits.size(), 2u);
}

TEST(Lane, SixteenTablesAlternateInAnArenaForThree) {
  Bench b({.batches = 2, .batch_bytes = 64 << 10, .table_bytes = 3 * 1024});
  std::vector<std::pair<std::vector<Literal>, Waiting>> jobs;
  std::vector<std::shared_ptr<const megakernel::Table>> tables;
  for (int i = 0; i < 16; ++i) {
    jobs.push_back({{{std::string(1, static_cast<char>('a' + i)), false}}, Waiting()});
    tables.push_back(b.script->AddTable(std::string(1, static_cast<char>('a' + i)), jobs[i].first));
  }
  const std::string text = "abcdefghijklmnopaaa";
  for (uint64_t i = 0; i < 16; ++i) b.lane->Submit(jobs[i].second.Job(text, tables[i], i));
  for (auto& [literals, waiting] : jobs) {
    EXPECT_EQ(waiting.Get().hits, NaiveHits(AsBytes(text), literals));
  }
}

TEST(Lane, ADeviceThatDoesNotOpenSaysWhyAndSendsWorkOn) {
  auto script = std::make_shared<FakeScript>();
  const auto table = script->AddTable("t", kLiterals);
  Lane cpu(LaneOptions{}, FakeOpener(script, {}), nullptr);
  ASSERT_TRUE(cpu.Start().ok());
  LaneOptions options;
  options.identity.backend = backends::BackendKind::kVulkan;
  Lane lane(
      options, []() -> absl::StatusOr<LaneParts> { return absl::UnavailableError("no driver"); },
      &cpu);
  EXPECT_EQ(lane.Start().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(lane.status().state, LaneState::kFailedToOpen);
  EXPECT_EQ(lane.status().reason, "no driver");
  Waiting waiting;
  lane.Submit(waiting.Job("abc", table));
  const MatchOutcome outcome = waiting.Get();
  EXPECT_EQ(outcome.hits.size(), 2u);
  EXPECT_TRUE(outcome.recovered);
  EXPECT_EQ(outcome.route, backends::BackendKind::kCpu);
  EXPECT_EQ(outcome.route_reason, "vulkan:0 takes no work: no driver");
}

}  // namespace
}  // namespace keysieve::scheduler
