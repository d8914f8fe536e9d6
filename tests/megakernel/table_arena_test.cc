// SPDX-License-Identifier: MIT
#include "megakernel/session/table_arena.h"

#include <gtest/gtest.h>

#include <random>

namespace keysieve::megakernel {
namespace {

Table TableOf(int literals) {
  std::vector<Literal> list;
  for (int i = 0; i < literals; ++i) list.push_back({"literal" + std::to_string(i)});
  return *CompileTable(list);
}

TEST(TableArena, RefusesAStaleGeneration) {
  TableArena arena(1 << 20);
  const TableHandle first = *arena.Claim(TableOf(1));
  ASSERT_TRUE(arena.Evict(first).ok());
  EXPECT_EQ(arena.Find(first).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(arena.Evict(first).code(), absl::StatusCode::kNotFound);
  const TableHandle second = *arena.Claim(TableOf(1));
  EXPECT_EQ(second.id, first.id);
  EXPECT_NE(second.generation, first.generation);
  EXPECT_FALSE(arena.Find(first).ok());
  EXPECT_TRUE(arena.Find(second).ok());
  EXPECT_FALSE(arena.Find({}).ok());
  EXPECT_FALSE(arena.Find({.id = 64, .generation = 1}).ok());
}

TEST(TableArena, KeepsAnEvictedTableUntilItsLastUserLeaves) {
  TableArena arena(1 << 20);
  const uint32_t free = arena.free_words();
  const TableHandle table = *arena.Claim(TableOf(1));
  arena.Hold(table);
  arena.Hold(table);
  ASSERT_TRUE(arena.Evict(table).ok());
  EXPECT_FALSE(arena.Find(table).ok());
  arena.Leave(table);
  EXPECT_LT(arena.free_words(), free);
  EXPECT_EQ(arena.Directory()[table.id].generation, table.generation);
  arena.Leave(table);
  EXPECT_EQ(arena.free_words(), free);
  EXPECT_EQ(arena.Directory()[table.id].generation, 0u);
}

TEST(TableArena, SaysWhatIsShort) {
  const Table table = TableOf(1);
  TableArena arena(static_cast<uint32_t>(table.words.size()) + 100);
  ASSERT_TRUE(arena.Claim(table).ok());
  EXPECT_EQ(arena.Claim(table).status().code(), absl::StatusCode::kResourceExhausted);
  TableArena wide(1 << 24);
  for (uint32_t i = 0; i < KS_CTL_DIRECTORY; ++i) ASSERT_TRUE(wide.Claim(table).ok());
  EXPECT_EQ(wide.Claim(table).status().code(), absl::StatusCode::kResourceExhausted);
}

TEST(TableArena, JoinsFreedExtentsAndNeverOverlaps) {
  std::mt19937 random(9);
  TableArena arena(1 << 17);
  const uint32_t all = arena.free_words();
  std::vector<TableHandle> live;
  const Table small = TableOf(1), large = TableOf(900);
  for (int round = 0; round < 2000; ++round) {
    if (live.empty() || random() % 2) {
      const auto claimed = arena.Claim(random() % 2 ? small : large);
      if (claimed.ok()) live.push_back(*claimed);
    } else {
      const size_t which = random() % live.size();
      ASSERT_TRUE(arena.Evict(live[which]).ok());
      live.erase(live.begin() + static_cast<long>(which));
    }
    for (size_t i = 0; i < live.size(); ++i) {
      for (size_t j = 0; j < i; ++j) {
        const auto& a = arena.resident(live[i].id);
        const auto& b = arena.resident(live[j].id);
        ASSERT_TRUE(a.at + a.words <= b.at || b.at + b.words <= a.at);
      }
    }
  }
  for (const TableHandle& handle : live) ASSERT_TRUE(arena.Evict(handle).ok());
  EXPECT_EQ(arena.free_words(), all);
  const Table largest = TableOf(2000);
  EXPECT_TRUE(arena.Claim(largest).ok());  // in one piece again
}

}  // namespace
}  // namespace keysieve::megakernel
