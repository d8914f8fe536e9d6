// SPDX-License-Identifier: MIT
// A device with too little memory, step by step.
#include "daemon/scheduler/open_ladder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "evidence/base/status.h"
#include "tests/support/fake_device.h"

namespace keysieve::scheduler {
namespace {

using megakernel::Geometry;
using ::testing::HasSubstr;

uint64_t RoughBytes(const Geometry& g) {
  return g.batches * (2 * g.batch_bytes + 2ull * 16 * g.hits_per_batch) + g.table_bytes;
}

TEST(OpenLadder, EachStepIsSmallerAndTheLastStillOverlapsCopies) {
  for (const Geometry& asked : {Geometry{}, Geometry{.batches = 1, .batch_bytes = 64 << 10},
                                Geometry{.batches = 16, .batch_bytes = 64 << 20}}) {
    const auto steps = GeometrySteps(asked);
    EXPECT_EQ(RoughBytes(steps.front()), RoughBytes(asked));
    for (size_t i = 1; i < steps.size(); ++i) {
      EXPECT_LT(RoughBytes(steps[i]), RoughBytes(steps[i - 1]));
    }
    EXPECT_EQ(steps.back().batches, std::min(asked.batches, 2u));
    EXPECT_EQ(steps.back().batch_bytes, std::min<uint64_t>(asked.batch_bytes, 1 << 20));
    EXPECT_EQ(steps.back().table_bytes, std::min<uint64_t>(asked.table_bytes, 4 << 20));
  }
}

struct Bench {
  explicit Bench(uint64_t memory) {
    test::FakeOptions fake;
    fake.limits.memory_bytes = memory;
    device = std::make_unique<test::FakeDevice>(fake);
    session = OpenSession(*device, {.geometry = {.batch_bytes = 8 << 20}},
                          [this](const std::string& sentence) { said.push_back(sentence); });
  }
  std::unique_ptr<test::FakeDevice> device;
  std::vector<std::string> said;
  absl::StatusOr<std::unique_ptr<megakernel::Session>> session = absl::UnknownError("");
};

TEST(OpenLadder, WithEnoughMemoryTheSettingsHoldAndNothingIsSaid) {
  Bench b(1ull << 30);
  ASSERT_TRUE(b.session.ok()) << b.session.status();
  EXPECT_EQ((*b.session)->geometry().batches, 4u);
  EXPECT_TRUE(b.said.empty());
}

TEST(OpenLadder, WithTooLittleItOpensSmallerAndSaysWhy) {
  Bench b(64 << 20);
  ASSERT_TRUE(b.session.ok()) << b.session.status();
  EXPECT_LT((*b.session)->geometry().batch_bytes, 8u << 20);
  EXPECT_LE(b.device->live_bytes(), 64u << 20);  // failed steps gave everything back
  ASSERT_GE(b.said.size(), 2u);
  EXPECT_THAT(b.said.front(), HasSubstr("cpu:0 has no memory for 4 batches of 8388608 bytes"));
  EXPECT_THAT(b.said.back(), HasSubstr("is open with"));
}

TEST(OpenLadder, WithNextToNothingItSaysWhatItTried) {
  Bench b(1 << 20);
  EXPECT_EQ(b.session.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(Message(b.session.status()), HasSubstr("not even memory for 2 batches of 1048576"));
  EXPECT_EQ(b.device->live_bytes(), 0u);
}

TEST(OpenLadder, AnotherErrorIsNotTriedAgain) {
  test::FakeDevice device;
  int said = 0;
  const auto session = OpenSession(device, {.geometry = {.slots = 7, .workgroup = 256}},
                                   [&](const std::string&) { ++said; });
  EXPECT_EQ(session.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(said, 0);
}

}  // namespace
}  // namespace keysieve::scheduler
