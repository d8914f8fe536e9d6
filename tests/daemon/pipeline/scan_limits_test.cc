// SPDX-License-Identifier: MIT
// Time and memory limits: nothing hangs, and every ending says why. Time is the test's own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "tests/daemon/pipeline/fake_transport.h"

namespace keysieve::pipeline {
namespace {

using ::testing::HasSubstr;

TEST(ScanLimits, TwoHundredHalfSentBlobsAgainstASmallBudgetAllEnd) {
  Bench b({.blob_limit = 64 << 10, .memory_limit = 256 << 10});
  std::vector<std::shared_ptr<FakeSink>> sinks;
  std::vector<std::shared_ptr<ScanStream>> streams;
  for (int i = 0; i < 200; ++i) {
    sinks.push_back(std::make_shared<FakeSink>());
    streams.push_back(b.Open(sinks.back()));
    streams.back()->StartScan({});
    ASSERT_TRUE(sinks.back()->AwaitDemand());
    streams.back()->Message({{.blob_id = 1, .path = "half", .declared_size = 60'000, .data = "x"}});
  }
  EXPECT_LE(b.pipeline->memory_in_use(), 256u << 10);
  // Nobody sends more. Time passes; those with memory fall idle, those without give up or get it.
  for (int round = 0; round < 200 && b.pipeline->streams() > 0; ++round) {
    b.Advance(30'000);
    b.pipeline->Tick();
  }
  EXPECT_EQ(b.pipeline->streams(), 0u);
  int idle = 0, memory = 0;
  for (const auto& sink : sinks) {
    sink->AwaitEnd();
    ASSERT_TRUE(sink->failure().has_value());
    idle += sink->failure()->reason == "IDLE" ? 1 : 0;
    const bool no_memory = sink->failure()->reason == "BLOB_MEMORY";
    memory += no_memory ? 1 : 0;
    EXPECT_EQ(sink->failure()->retry_after.has_value(), no_memory);
  }
  EXPECT_EQ(idle + memory, 200);
  EXPECT_GT(idle, 0);
  EXPECT_GT(memory, 0);
}

TEST(ScanLimits, TwoHundredStreamsThatKeepSendingAllFinish) {
  Bench b({.blob_limit = 64 << 10, .memory_limit = 128 << 10});
  std::vector<std::shared_ptr<FakeSink>> sinks;
  std::vector<std::shared_ptr<ScanStream>> streams;
  const std::string text = std::string(50'000, '.') + "KEY=abcd";
  for (int i = 0; i < 200; ++i) {
    sinks.push_back(std::make_shared<FakeSink>());
    streams.push_back(b.Open(sinks.back()));
    streams.back()->StartScan({});
    ASSERT_TRUE(sinks.back()->AwaitDemand());
    auto chunks = Cut({1, "f", text}, 30'000);
    streams.back()->Message({chunks[0]});
  }
  // Each goes on as soon as it is asked; the queue must move by itself.
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (size_t i = static_cast<size_t>(t); i < 200; i += 4) {
        if (!sinks[i]->AwaitDemand()) continue;
        streams[i]->Message({Cut({1, "f", text}, 30'000)[1]});
        if (sinks[i]->AwaitDemand()) streams[i]->HalfClose();
        sinks[i]->AwaitEnd();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  for (const auto& sink : sinks) {
    ASSERT_TRUE(sink->summary().has_value());
    EXPECT_EQ(sink->summary()->findings, 1u);
  }
  EXPECT_EQ(b.pipeline->memory_in_use(), 0u);
}

TEST(ScanLimits, NoSecondChunkIsReadBeforeTheWholeBlobHasItsMemory) {
  Bench b({.blob_limit = 100'000, .memory_limit = 100'000});
  const auto first = std::make_shared<FakeSink>();
  const auto holder = b.Open(first);
  holder->StartScan({});
  ASSERT_TRUE(first->AwaitDemand());
  holder->Message({{.blob_id = 1, .path = "a", .declared_size = 60'000, .data = "x"}});
  ASSERT_TRUE(first->AwaitDemand());
  const auto second = std::make_shared<FakeSink>();
  const auto waiter = b.Open(second);
  waiter->StartScan({});
  ASSERT_TRUE(second->AwaitDemand());
  waiter->Message({{.blob_id = 1, .path = "b", .declared_size = 60'000, .data = "y"}});
  EXPECT_FALSE(second->wanted());
  holder->Cancel();
  EXPECT_TRUE(second->AwaitDemand());
  waiter->Cancel();
  EXPECT_EQ(first->endings(), 0);  // nobody is there to be told
}

TEST(ScanLimits, AnUnknownSizeReservesTheLimitUntilTheBlobIsWhole) {
  Bench b({.blob_limit = 100'000, .memory_limit = 300'000});
  const auto sink = std::make_shared<FakeSink>();
  const auto stream = b.Open(sink);
  stream->StartScan({});
  ASSERT_TRUE(sink->AwaitDemand());
  stream->Message({{.blob_id = 1, .path = "a", .data = "x"}});
  EXPECT_EQ(b.pipeline->memory_in_use(), 100'000u);
  ASSERT_TRUE(sink->AwaitDemand());
  stream->Message({{.blob_id = 1, .offset = 1, .last = true}});
  sink->AwaitBlobs(1);
  EXPECT_EQ(b.pipeline->memory_in_use(), 0u);
  stream->Cancel();
}

TEST(ScanLimits, ASilentStreamEndsWithADeadline) {
  Bench b({.idle = std::chrono::seconds(5)});
  const auto sink = std::make_shared<FakeSink>();
  const auto stream = b.Open(sink);
  stream->StartScan({});
  ASSERT_TRUE(sink->AwaitDemand());
  b.Advance(4'999);
  b.pipeline->Tick();
  EXPECT_EQ(sink->endings(), 0);
  b.Advance(2);
  b.pipeline->Tick();
  ASSERT_EQ(sink->endings(), 1);
  EXPECT_EQ(sink->failure()->code, absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(sink->failure()->message, HasSubstr("5 s (limits.idle_s)"));
}

TEST(ScanLimits, AStreamWithoutOptionsIsIdleToo) {
  Bench b({.idle = std::chrono::seconds(5)});
  const auto sink = std::make_shared<FakeSink>();
  const auto stream = b.Open(sink);
  b.Advance(5'001);
  b.pipeline->Tick();
  EXPECT_EQ(sink->failure()->reason, "IDLE");
}

TEST(ScanLimits, RepliesThatNobodyReadsAbortTheStream) {
  Bench b;
  const auto sink = std::make_shared<FakeSink>();
  const auto stream = b.Open(sink);
  stream->StartScan({});
  ASSERT_TRUE(sink->AwaitDemand());
  sink->Stall(b.pipeline->options().now());
  b.Advance(60'001);
  b.pipeline->Tick();
  ASSERT_EQ(sink->endings(), 1);
  EXPECT_EQ(sink->failure()->code, absl::StatusCode::kAborted);
  EXPECT_EQ(sink->failure()->reason, "REPLIES_NOT_READ");
}

TEST(ScanLimits, NoMoreIsReadWhileRepliesPileUp) {
  Bench b({.blob_limit = 1 << 20, .memory_limit = 8 << 20, .reply_backlog = 1000});
  const auto sink = std::make_shared<FakeSink>();
  const auto stream = b.Open(sink);
  stream->StartScan({});
  ASSERT_TRUE(sink->AwaitDemand());
  sink->queued = 1001;
  stream->Message(Cut({1, "f", "x"}, 10));
  EXPECT_FALSE(sink->wanted());
  sink->queued = 0;
  stream->RepliesDrained();
  EXPECT_TRUE(sink->AwaitDemand());
  stream->Cancel();
}

TEST(ScanLimits, StreamsBeyondTheLimitAreRefusedWithADelay) {
  Bench b({.max_streams = 2});
  std::vector<std::shared_ptr<ScanStream>> open;
  for (int i = 0; i < 2; ++i) open.push_back(b.Open(std::make_shared<FakeSink>()));
  auto third = b.pipeline->Open(std::make_shared<FakeSink>(), {});
  ASSERT_TRUE(std::holds_alternative<Failure>(third));
  EXPECT_EQ(std::get<Failure>(third).code, absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(std::get<Failure>(third).retry_after.has_value());
  open[0]->Cancel();
  EXPECT_TRUE(std::holds_alternative<std::shared_ptr<ScanStream>>(
      b.pipeline->Open(std::make_shared<FakeSink>(), {})));
  open[1]->Cancel();
  EXPECT_EQ(b.counters.Read().rejects.at("streams"), 1u);
}

TEST(ScanLimits, DrainingRefusesNewStreamsAndFinishesOldOnes) {
  Bench b;
  const auto sink = std::make_shared<FakeSink>();
  const auto stream = b.Open(sink);
  stream->StartScan({});
  b.pipeline->Drain();
  auto refused = b.pipeline->Open(std::make_shared<FakeSink>(), {});
  ASSERT_TRUE(std::holds_alternative<Failure>(refused));
  EXPECT_EQ(std::get<Failure>(refused).code, absl::StatusCode::kUnavailable);
  Send(*stream, *sink, {{1, "f", "KEY=aaaa"}}, 100);
  EXPECT_EQ(sink->summary()->findings, 1u);
}

TEST(ScanLimits, AbortEndsWhatIsOpen) {
  Bench b;
  const auto sink = std::make_shared<FakeSink>();
  const auto stream = b.Open(sink);
  stream->StartScan({});
  b.pipeline->Abort("shutting down");
  sink->AwaitEnd();
  EXPECT_EQ(sink->failure()->code, absl::StatusCode::kUnavailable);
  EXPECT_EQ(b.pipeline->streams(), 0u);
}

}  // namespace
}  // namespace keysieve::pipeline
