// SPDX-License-Identifier: MIT
// The CPU's Vectorscan route apart from a session: when a table gets a database, what becomes of
// one that is evicted, and which literals it finds.
#include "megakernel/images/cpu_matcher.h"

#include <gtest/gtest.h>

#include <chrono>
#include <random>
#include <thread>

#include "evidence/base/status.h"
#include "megakernel/images/slot_hits.h"
#include "tests/megakernel/naive_matcher.h"

namespace keysieve::megakernel {
namespace {

using test::Bytes;
using test::Difference;
using test::NaiveMatches;

Table Compiled(const std::vector<Literal>& literals) { return *CompileTable(literals); }

// All hits of `text` as one slot of one blob.
std::vector<LiteralHit> Find(const std::vector<Literal>& literals, const std::string& text,
                             uint32_t begin, uint32_t end) {
  const auto database = CpuDatabase::Compile(Compiled(literals));
  EXPECT_TRUE(database.ok()) << database.status();
  auto workspace = (*database)->Take();
  uint32_t size = static_cast<uint32_t>(text.size());
  SlotHits hits(
      **database, Bytes(text).data(), workspace->keys, {begin, end, size},
      [](void* bytes, uint32_t) {
        return BlobBounds{0, *static_cast<uint32_t*>(bytes), *static_cast<uint32_t*>(bytes)};
      },
      &size);
  EXPECT_TRUE(hits.Find(*workspace));
  std::vector<LiteralHit> found;
  for (const uint64_t key : workspace->keys) {
    const uint64_t start = SlotHits::PositionOf(key);
    const uint32_t literal = SlotHits::LiteralOf(key);
    found.push_back({start, start + literals[literal].bytes.size(), literal});
  }
  EXPECT_TRUE(std::is_sorted(found.begin(), found.end()));
  return found;
}

TEST(CpuDatabase, FindsLiteralsOfEveryKindInASlot) {
  std::mt19937 random(5);
  std::vector<Literal> literals = {{std::string(1, '\0')},
                                   {std::string(3, '\0')},
                                   {std::string("\0\0ab", 4)},
                                   {std::string("\0Ab", 3), true},
                                   {std::string("a\0b", 3)},
                                   {"a"},
                                   {"ab", true},
                                   {"ab", true},
                                   {"AB"},
                                   {std::string(255, 'a')},
                                   {std::string(255, 'B'), true},
                                   {"\xff\x80", true},
                                   {"[{@`", true}};
  std::string text;
  while (text.size() < 60000) {
    const Literal& literal = literals[random() % literals.size()];
    text +=
        random() % 3 == 0 ? literal.bytes : std::string(random() % 4, "\0abAB\xff"[random() % 6]);
  }
  const auto size = static_cast<uint32_t>(text.size());
  for (const auto& [begin, end] : {std::pair{0u, size}, {1u, 2u}, {7u, size - 300}, {500u, 501u}}) {
    EXPECT_EQ(Difference(Find(literals, text, begin, end),
                         NaiveMatches(literals, Bytes(text), begin, end)),
              "same")
        << begin << " to " << end;
  }
}

TEST(CpuDatabase, TextWithTooManyHitsIsHandedBack) {
  const std::vector<Literal> literals(9, Literal{"a"});
  const auto database = CpuDatabase::Compile(Compiled(literals));
  ASSERT_TRUE(database.ok());
  const std::string text(SlotHits::kMost / 8, 'a');
  auto workspace = (*database)->Take();
  uint32_t size = static_cast<uint32_t>(text.size());
  const auto bounds = [](void* bytes, uint32_t) {
    return BlobBounds{0, *static_cast<uint32_t*>(bytes), *static_cast<uint32_t*>(bytes)};
  };
  SlotHits all(**database, Bytes(text).data(), workspace->keys, {0, size, size}, bounds, &size);
  EXPECT_FALSE(all.Find(*workspace));
  SlotHits half(**database, Bytes(text).data(), workspace->keys, {0, size / 2, size}, bounds,
                &size);
  EXPECT_TRUE(half.Find(*workspace));
  EXPECT_EQ(workspace->keys.size(), size / 2 * 9);
}

TEST(CpuDatabase, FourThousandLiteralsCompile) {
  std::mt19937 random(9);
  std::vector<Literal> literals(4000);
  for (Literal& literal : literals) {
    for (uint32_t i = 4 + random() % 20; i > 0; --i) literal.bytes += 'a' + random() % 26;
    literal.ignore_case = random() % 2;
  }
  const auto database = CpuDatabase::Compile(Compiled(literals));
  ASSERT_TRUE(database.ok()) << database.status();
  EXPECT_GT((*database)->bytes(), 0u);
}

TEST(CpuMatcher, MakesADatabaseOnceATableHasScannedEnough) {
  CpuMatcher matcher(false);
  const Table table = Compiled({{"key"}, {"token", true}});
  matcher.Loaded(3, table);
  const uint64_t enough = CpuMatcher::kBytesPerLiteral * 2;
  EXPECT_EQ(matcher.Find(3, enough - 1), nullptr);
  EXPECT_EQ(matcher.Find(4, enough), nullptr);  // no such table
  std::shared_ptr<const CpuDatabase> database = matcher.Find(3, 1);
  while (database == nullptr) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    database = matcher.Find(3, 0);
  }
  EXPECT_EQ(matcher.Find(3, 0), database);  // one and the same from now on
  matcher.Evicted(3);
  EXPECT_EQ(matcher.Find(3, enough), nullptr);
  EXPECT_EQ(database.use_count(), 1);  // a scan that holds it goes on
  EXPECT_TRUE(matcher.TakeMessages().empty());
}

TEST(CpuMatcher, TablesEvictedBeforeTheirTurnAreForgotten) {
  CpuMatcher matcher(false);
  const Table table = Compiled({{"key"}});
  for (uint32_t generation = 1; generation <= 50; ++generation) {
    matcher.Loaded(generation, table);
    (void)matcher.Find(generation, CpuMatcher::kBytesPerLiteral);
    matcher.Evicted(generation);
  }
  for (uint32_t generation = 1; generation <= 50; ++generation) {
    EXPECT_EQ(matcher.Find(generation, 0), nullptr);
  }
}

TEST(CpuMatcher, AtOnceMeansBeforeLoadedReturns) {
  CpuMatcher matcher(true);
  matcher.Loaded(1, Compiled({{"key"}}));
  EXPECT_NE(matcher.Find(1, 0), nullptr);
}

}  // namespace
}  // namespace keysieve::megakernel
