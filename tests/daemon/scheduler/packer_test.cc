// SPDX-License-Identifier: MIT
#include "daemon/scheduler/packer.h"

#include <gtest/gtest.h>

#include <map>

#include "tests/daemon/scheduler/fake_session.h"

namespace keysieve::scheduler {
namespace {

struct Bench {
  std::shared_ptr<FakeScript> script = std::make_shared<FakeScript>();
  std::shared_ptr<const megakernel::Table> table = script->AddTable("t", {{"0123456789", false}});
  Packer packer;
  Waiting sink;

  std::shared_ptr<ActiveJob> Add(size_t bytes, uint64_t request) {
    auto job = std::make_shared<ActiveJob>();
    job->job = sink.Job(std::string(bytes, 'x'), table, request);
    packer.Add(job);
    return job;
  }
};

TEST(Packer, PacksSmallBlobsOfManyRequestsTogether) {
  Bench b;
  for (uint64_t r = 0; r < 10; ++r) b.Add(100, r);
  const PackedBatch batch = b.packer.Pack(1 << 20, 1000);
  EXPECT_EQ(batch.pieces.size(), 10u);
  EXPECT_TRUE(b.packer.empty());
  EXPECT_TRUE(b.packer.Pack(1 << 20, 1000).pieces.empty());
}

TEST(Packer, CutsALargeBlobIntoPiecesThatOwnEveryByteOnce) {
  Bench b;
  const auto job = b.Add(1'000'000, 1);
  uint64_t at = 0;
  while (!b.packer.empty()) {
    const PackedBatch batch = b.packer.Pack(128 << 10, 1000);
    uint64_t text = 0;
    for (const CutPiece& piece : batch.pieces) {
      EXPECT_EQ(piece.begin, at);
      ASSERT_GT(piece.owned_bytes, 0u);
      at += piece.owned_bytes;
      // The margin is the longest literal less one, up to the blob's end.
      EXPECT_EQ(piece.text_bytes,
                std::min<uint64_t>(piece.owned_bytes + 9, 1'000'000 - piece.begin));
      text += piece.text_bytes;
    }
    EXPECT_LE(text, 128u << 10);
  }
  EXPECT_EQ(at, 1'000'000u);
  EXPECT_TRUE(job->whole());
}

TEST(Packer, ASmallRequestIsInTheNextBatchBesideALargeOne) {
  Bench b;
  b.Add(50 << 20, 1);
  b.packer.Pack(1 << 20, 1000);
  const auto small = b.Add(10, 2);
  const PackedBatch batch = b.packer.Pack(1 << 20, 1000);
  EXPECT_TRUE(small->whole());
  EXPECT_GT(batch.pieces.size(), 1u);  // and the large one goes on
}

TEST(Packer, SharesABatchBetweenLargeRequests) {
  Bench b;
  for (uint64_t r = 0; r < 4; ++r) b.Add(8 << 20, r);
  std::map<const ActiveJob*, uint64_t> bytes;
  for (const CutPiece& piece : b.packer.Pack(1 << 20, 1000).pieces) {
    bytes[piece.job.get()] += piece.owned_bytes;
  }
  ASSERT_EQ(bytes.size(), 4u);
  for (const auto& [job, n] : bytes) EXPECT_GT(n, 200u << 10);
}

TEST(Packer, ABatchHoldsOneTableAndTablesTakeTurns) {
  Bench b;
  const auto other = b.script->AddTable("u", {{"zz", false}});
  b.Add(100, 1);
  b.Add(100, 1);
  auto job = std::make_shared<ActiveJob>();
  job->job = b.sink.Job("yy", other, 2);
  b.packer.Add(job);
  EXPECT_EQ(b.packer.Pack(1 << 20, 1000).table, b.table);
  EXPECT_EQ(b.packer.Pack(1 << 20, 1000).table, other);
  EXPECT_TRUE(b.packer.empty());
}

TEST(Packer, RespectsThePieceLimit) {
  Bench b;
  for (int i = 0; i < 10; ++i) b.Add(10, 1);
  EXPECT_EQ(b.packer.Pack(1 << 20, 4).pieces.size(), 4u);
  EXPECT_EQ(b.packer.jobs(), 6u);
}

TEST(Packer, ACancelledRequestLeavesWholeByOneLookAtItsFlag) {
  Bench b;
  const auto flag = std::make_shared<std::atomic<bool>>(false);
  for (int i = 0; i < 1000; ++i) b.Add(10, 1)->job.cancelled = flag;
  const auto left = b.Add(10, 1);
  left->job.cancelled = flag;
  left->left = true;
  const auto stays = b.Add(10, 2);
  EXPECT_TRUE(b.packer.TakeCancelled().empty());
  EXPECT_EQ(b.packer.jobs(), 1002u);
  flag->store(true);
  EXPECT_EQ(b.packer.TakeCancelled().size(), 1000u);  // what had left is not returned
  EXPECT_EQ(b.packer.jobs(), 1u);
  EXPECT_TRUE(b.packer.TakeCancelled().empty());
  EXPECT_EQ(b.packer.Pack(1 << 20, 10).pieces.at(0).job, stays);
  EXPECT_TRUE(b.packer.empty());
}

TEST(Packer, ManyCancelledRequestsLeaveAndTheOthersKeepTheirTurns) {
  Bench b;
  const auto flag = std::make_shared<std::atomic<bool>>(true);
  for (uint64_t r = 0; r < 100; ++r) {
    const auto job = b.Add(10, r);
    if (r % 2 == 0) job->job.cancelled = flag;
  }
  EXPECT_EQ(b.packer.TakeCancelled().size(), 50u);
  const PackedBatch batch = b.packer.Pack(1 << 20, 100);
  ASSERT_EQ(batch.pieces.size(), 50u);
  for (size_t i = 0; i < 50; ++i) EXPECT_EQ(batch.pieces[i].job->job.request, 2 * i + 1);
}

}  // namespace
}  // namespace keysieve::scheduler
