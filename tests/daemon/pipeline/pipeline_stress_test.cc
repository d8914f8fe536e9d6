// SPDX-License-Identifier: MIT
// Many streams at once over few workers and little memory, some of them cancelled midway: the
// others get exactly their own findings. ThreadSanitizer runs this.
#include <gtest/gtest.h>

#include <random>
#include <thread>

#include "tests/daemon/pipeline/fake_transport.h"

namespace keysieve::pipeline {
namespace {

TEST(PipelineStress, StreamsDoNotDisturbOneAnother) {
  Bench b({.blob_limit = 64 << 10, .memory_limit = 256 << 10});
  std::atomic<int> finished{0}, cancelled{0};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(t);
      for (int round = 0; round < 6; ++round) {
        const auto sink = std::make_shared<FakeSink>();
        const auto stream = b.Open(sink);
        stream->StartScan({});
        std::vector<Blob> blobs;
        uint64_t keys = 0;
        for (uint64_t i = 0; i < 15; ++i) {
          std::string text(random() % 20'000, '.');
          const unsigned n = random() % 3;
          for (unsigned k = 0; k < n; ++k) text += "KEY=abcd";
          keys += n;
          blobs.push_back({i, "f", std::move(text), random() % 4 != 0});
        }
        if (random() % 3 == 0) {
          if (sink->AwaitDemand()) stream->Message(Cut(blobs[0], 5'000));
          stream->Cancel();
          ++cancelled;
          continue;
        }
        Send(*stream, *sink, blobs, 1 + random() % 6'000, 1 + random() % 5);
        ASSERT_TRUE(sink->summary().has_value());
        EXPECT_EQ(sink->summary()->findings, keys);
        EXPECT_EQ(sink->summary()->blobs, 15u);
        ++finished;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(finished + cancelled, 48);
  EXPECT_GT(finished.load(), 0);
  EXPECT_EQ(b.pipeline->streams(), 0u);
  b.lane->Stop();
  b.pipeline.reset();  // returns only when nobody holds a stream any more
}

}  // namespace
}  // namespace keysieve::pipeline
