// SPDX-License-Identifier: MIT
#include "megakernel/session/ring.h"

#include <gtest/gtest.h>

namespace keysieve::megakernel {
namespace {

std::vector<Slot> Slots(uint32_t count, uint32_t mark = 0) {
  std::vector<Slot> slots(count);
  for (uint32_t i = 0; i < count; ++i) slots[i].begin = mark + i;
  return slots;
}

TEST(Ring, RefusesMoreSlotsThanAreFreeAndPublishesNothing) {
  Ring ring(8);
  ASSERT_TRUE(ring.Publish(Slots(6)).ok());
  const auto refused = ring.Publish(Slots(3, 100));
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(ring.free(), 2u);
  EXPECT_EQ(ring.at(6).status, KS_STATE_EMPTY);
  const auto next = ring.Publish(Slots(2, 50));
  ASSERT_TRUE(next.ok());
  EXPECT_EQ(next->first, 6u);  // the cursor did not move on the refusal
  EXPECT_EQ(ring.at(6).begin, 50u);
  EXPECT_EQ(ring.at(6).status, KS_STATE_PUBLISHED);
}

TEST(Ring, WrapsAndShowsTwoStretches) {
  Ring ring(8);
  const SlotRange first = *ring.Publish(Slots(6));
  ASSERT_TRUE(ring.Release(first).ok());
  const SlotRange wrapped = *ring.Publish(Slots(5, 10));
  EXPECT_EQ(wrapped.first, 6u);
  std::vector<std::pair<uint32_t, size_t>> stretches;
  ring.ForEachStretch(wrapped, [&](uint32_t at, std::span<const Slot> slots) {
    stretches.emplace_back(at, slots.size());
  });
  EXPECT_EQ(stretches, (std::vector<std::pair<uint32_t, size_t>>{{6, 2}, {0, 3}}));
  EXPECT_EQ(ring.at(0).begin, 12u);
}

TEST(Ring, TakesAllItsSlotsAtOnce) {
  Ring ring(4);
  const SlotRange all = *ring.Publish(Slots(4));
  EXPECT_EQ(ring.free(), 0u);
  ASSERT_TRUE(ring.Release(all).ok());
  EXPECT_EQ(ring.free(), 4u);
  for (uint32_t i = 0; i < 4; ++i) EXPECT_EQ(ring.at(i).status, KS_STATE_EMPTY);
}

TEST(Ring, ReleasesOnlyTheOldest) {
  Ring ring(8);
  const SlotRange first = *ring.Publish(Slots(2));
  const SlotRange second = *ring.Publish(Slots(2));
  EXPECT_EQ(ring.Release(second).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(ring.free(), 4u);
  EXPECT_TRUE(ring.Release(first).ok());
  EXPECT_TRUE(ring.Release(second).ok());
  EXPECT_TRUE(ring.Release({}).ok());
  EXPECT_EQ(ring.free(), 8u);
}

TEST(Ring, RepublishesInsideARangeThatIsHeld) {
  Ring ring(4);
  const SlotRange held = *ring.Publish(Slots(3));
  const auto again = ring.Republish(held, Slots(2, 70));
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->count, 2u);
  EXPECT_EQ(ring.at(held.first).begin, 70u);
  EXPECT_EQ(ring.free(), 1u);
  EXPECT_EQ(ring.Republish(held, Slots(4)).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace keysieve::megakernel
