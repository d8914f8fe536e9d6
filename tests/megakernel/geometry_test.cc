// SPDX-License-Identifier: MIT
#include "megakernel/geometry.h"

#include <gtest/gtest.h>

#include "megakernel/abi.h"

namespace keysieve::megakernel {
namespace {

using backends::BackendKind;
using backends::Limits;

const backends::Identity kCpu{.backend = BackendKind::kCpu};
const backends::Identity kVulkan{.backend = BackendKind::kVulkan};
const Limits kLimits{.max_buffer_bytes = 128 << 20, .max_workgroup_size = 256};

void ExpectRefused(const Geometry& geometry, const std::string& field) {
  const auto layout = LayOut(geometry, kLimits, kVulkan);
  EXPECT_EQ(layout.status().code(), absl::StatusCode::kInvalidArgument) << field;
  EXPECT_NE(std::string(layout.status().message()).find(field), std::string::npos)
      << layout.status();
}

TEST(Geometry, TakesItsDefaults) {
  const auto layout = LayOut({}, kLimits, kVulkan);
  ASSERT_TRUE(layout.ok()) << layout.status();
  EXPECT_EQ(layout->ring_at % KS_SLOT_WORDS, 0u);
  EXPECT_GE(layout->ring_at, KS_CTL_TENANTS_AT + 3 * 64);
  EXPECT_EQ(layout->control_words, layout->ring_at + 256 * KS_SLOT_WORDS);
  EXPECT_GE(layout->text_buffer_bytes, KS_TEXT_LEAD + (8u << 20) + KS_TEXT_SLACK);
  EXPECT_GE(layout->max_hits, 65536u);
}

TEST(Geometry, NamesTheFieldItRefuses) {
  ExpectRefused({.slots = 1}, "slots");
  ExpectRefused({.slots = 4097}, "slots");
  ExpectRefused({.slots = 100, .workgroup = 64}, "whole multiple");
  ExpectRefused({.workgroup = 0}, "workgroup");
  ExpectRefused({.workgroup = 512}, "workgroup");  // more than the device takes
  ExpectRefused({.tenants = 0}, "tenants");
  ExpectRefused({.tenants = 256}, "tenants");  // not fewer than the slots
  ExpectRefused({.batches = 0}, "batches");
  ExpectRefused({.batch_bytes = 1}, "batch_bytes");
  ExpectRefused({.batch_bytes = 2u << 30}, "batch_bytes");
  ExpectRefused({.batch_bytes = 128 << 20}, "batch_bytes");  // with its slack, past the device's
  ExpectRefused({.table_bytes = 1}, "table_bytes");
  ExpectRefused({.hits_per_batch = 0}, "hits_per_batch");
}

TEST(Geometry, AsksNoWorkgroupOfAHostImage) {
  Limits one = kLimits;
  one.max_workgroup_size = 1;
  EXPECT_TRUE(LayOut({}, one, kCpu).ok());
  EXPECT_FALSE(LayOut({}, one, kVulkan).ok());
}

TEST(Geometry, LeavesASlotForEveryTenantOfABatch) {
  for (uint32_t slots : {2u, 8u, 96u, 256u}) {
    for (uint32_t tenants : {1u, slots / 2, slots - 1}) {
      const auto layout = LayOut(
          {.slots = slots, .workgroup = slots, .tenants = tenants, .batches = 1}, kLimits, kCpu);
      ASSERT_TRUE(layout.ok()) << layout.status();
      EXPECT_GE(layout->slots_per_batch, 1u);
      EXPECT_LE(layout->slots_per_batch + tenants, slots);
    }
  }
}

TEST(Geometry, LimitsStepsOnlyWhereADriverWouldCutLoopsShort) {
  backends::Identity software = kVulkan;
  software.software = true;
  EXPECT_EQ(LayOut({}, kLimits, kVulkan)->step_limit, 0u);
  EXPECT_EQ(LayOut({}, kLimits, kCpu)->step_limit, 0u);
  EXPECT_GT(LayOut({}, kLimits, software)->step_limit, 1000u);
  EXPECT_LT(LayOut({}, kLimits, software)->step_limit * 8, 65535u);
}

}  // namespace
}  // namespace keysieve::megakernel
