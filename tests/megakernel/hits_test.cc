// SPDX-License-Identifier: MIT
// The decoder of what a device wrote: each word that is out of bounds is named, none is used.
#include "megakernel/session/hits.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>

namespace keysieve::megakernel {
namespace {

class Hits : public testing::Test {
 protected:
  Hits() {
    packing_.blobs = {Blob{.begin = 16, .end = 116, .own_begin = 16, .own_end = 116},
                      Blob{.begin = 116, .end = 216, .own_begin = 120, .own_end = 200}};
    packing_.piece_of = {1, 0};  // laid out in another order than submitted
    packing_.text_end = 216;
    Slot slot;
    slot.status = KS_STATE_PUBLISHED;
    slot.opcode = KS_OP_SCAN;
    slot.epoch = 5;
    slot.generation = 1;
    slot.readable = 216;
    slot.begin = 16;
    slot.end = 116;
    published_.push_back(slot);
    slot.begin = 116;
    slot.end = 216;
    published_.push_back(slot);
    returned_ = published_;
    for (Slot& back : returned_) back.status = KS_STATE_DONE;
    control_.assign(KS_CTL_TENANTS_AT, 0);
    control_[KS_CTL_MAGIC] = KS_ABI_MAGIC;
    control_[KS_CTL_VERSION] = KS_ABI_VERSION;
    control_[KS_CTL_EPOCH] = 5;
    control_[KS_CTL_DONE] = 2;
  }
  void Add(uint32_t literal, uint32_t place, uint32_t position) {
    records_.push_back({literal | (range_.first + place) % 8 << KS_HIT_LITERAL_BITS, position});
    ++returned_[place].hits;
    ++control_[KS_CTL_HITS];
  }
  EpochView View() const { return {5, range_, 8, published_, returned_, control_}; }
  absl::Status Take() {
    HitCollector collector(packing_, lengths_, scratch_);
    const absl::Status taken = collector.Take(View(), records_);
    return taken.ok() ? collector.Results().status() : taken;
  }

  Packing packing_;
  HitScratch scratch_;
  const std::vector<uint8_t> lengths_ = {3, 20, 1};
  const SlotRange range_ = {7, 2};  // wraps in a ring of 8
  std::vector<Slot> published_, returned_;
  std::vector<uint32_t> control_;
  std::vector<HitRecord> records_;
};

TEST_F(Hits, GoToTheirPiecesSortedByStartEndPattern) {
  Add(1, 1, 150);
  Add(2, 1, 150);
  Add(0, 1, 150);
  Add(0, 0, 113);
  Add(2, 1, 199);
  ASSERT_TRUE(ReadCounts(View()).ok());
  EXPECT_EQ(ReadCounts(View())->hits, 5u);
  HitCollector collector(packing_, lengths_, scratch_);
  ASSERT_TRUE(collector.Take(View(), records_).ok());
  const std::vector<std::vector<LiteralHit>> want = {
      {{34, 35, 2}, {34, 37, 0}, {34, 54, 1}, {83, 84, 2}}, {{97, 100, 0}}};
  EXPECT_EQ(*collector.Results(), want);
}

TEST_F(Hits, SortManyAsFewAreSorted) {
  packing_.blobs = {Blob{.begin = 16, .end = 20000016, .own_begin = 16, .own_end = 20000016}};
  packing_.piece_of = {0};
  packing_.text_end = 20000016;
  published_[0].end = returned_[0].end = 20000016;
  std::mt19937 random(4);
  for (int i = 0; i < 3000; ++i) {
    Add(random() % 3, 0, i % 3 ? 16 + random() % 19999000 : 16 + random() % 50);
  }
  HitCollector collector(packing_, lengths_, scratch_);
  ASSERT_TRUE(collector.Take(View(), records_).ok());
  const auto results = *collector.Results();
  ASSERT_EQ(results[0].size(), 3000u);
  EXPECT_TRUE(std::is_sorted(results[0].begin(), results[0].end()));
}

TEST_F(Hits, OutOfBoundsAreRefused) {
  const std::vector<std::function<void()>> damages = {
      [&] { Add(3, 0, 20); },   // no such literal
      [&] { Add(0, 0, 15); },   // before its slot
      [&] { Add(0, 0, 116); },  // after it
      [&] { Add(0, 0, 114); },  // ends past its piece
      [&] { Add(2, 1, 119); },  // not owned
      [&] { Add(2, 1, 200); },  // not owned
      [&] {
        records_.push_back({2, 20});
      },  // slot 0 is place 1; its range begins at 116
      [&] {
        records_.push_back({2 | 3u << 20, 20});
      },  // a slot that is not the epoch's
      [&] {
        records_.push_back({2 | 4095u << 20, 20});
      },                             // a slot that is not the ring's
      [&] { ++returned_[1].hits; },  // fewer records than counted
  };
  for (size_t i = 0; i < damages.size(); ++i) {
    const auto control = control_;
    const auto returned = returned_;
    records_.clear();
    EXPECT_TRUE(Take().ok());
    damages[i]();
    EXPECT_EQ(Take().code(), absl::StatusCode::kInternal) << i;
    control_ = control;
    returned_ = returned;
  }
}

TEST_F(Hits, EachControlWordAndSlotFieldIsHeldToWhatWasPublished) {
  for (uint32_t word :
       {KS_CTL_MAGIC, KS_CTL_VERSION, KS_CTL_EPOCH, KS_CTL_DONE, KS_CTL_FAULTS, KS_CTL_HITS}) {
    const auto before = control_;
    ++control_[word];
    EXPECT_EQ(ReadCounts(View()).status().code(), absl::StatusCode::kInternal) << word;
    control_ = before;
  }
  for (uint32_t word = 0; word < KS_SLOT_WORDS; ++word) {
    if (word == KS_SLOT_PAIRS || word == KS_SLOT_STEPS) continue;  // counts of no consequence
    const auto before = returned_;
    ++reinterpret_cast<uint32_t*>(&returned_[1])[word];
    EXPECT_EQ(ReadCounts(View()).status().code(), absl::StatusCode::kInternal) << word;
    returned_ = before;
  }
  EXPECT_TRUE(ReadCounts(View()).ok());
}

TEST_F(Hits, ACountThatStoppedGrowingIsSaidToBeOne) {
  control_[KS_CTL_HITS] = kHitsCeiling + 7;
  returned_[0].hits = kHitsCeiling;
  const auto counts = ReadCounts(View());
  ASSERT_TRUE(counts.ok());
  EXPECT_TRUE(counts->saturated);
}

}  // namespace
}  // namespace keysieve::megakernel
