// SPDX-License-Identifier: MIT
// Cells and buckets.
#include "evidence/cells.h"

#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "evidence/metric_source.h"

namespace keysieve::evidence {
namespace {

TEST(CounterCells, EveryRowAndLabelHasACellOfItsOwn) {
  std::set<std::size_t> cells;
  for (std::size_t c = 0; c < kCounters; ++c) {
    for (std::size_t i = 0; i < LabelCount(kCounterRows[c].label); ++i) {
      const std::size_t cell = CellOf(static_cast<Counter>(c), i);
      EXPECT_LT(cell, kCounterCells);
      EXPECT_TRUE(cells.insert(cell).second) << kCounterRows[c].name;
    }
  }
  EXPECT_EQ(cells.size(), kCounterCells);
}

TEST(CounterCells, SumsOverLabelsAndNoFurther) {
  CounterCells cells;
  cells.Add(CellOf(Counter::kUploadBytes, 0), 5);
  cells.Add(CellOf(Counter::kUploadBytes, 3), 7);
  cells.Add(CellOf(Counter::kUploadTime), 100);
  EXPECT_EQ(cells.Read().Sum(Counter::kUploadBytes), 12u);
  EXPECT_EQ(cells.Read().Of(Counter::kUploadBytes, 3), 7u);
  cells.Clear();
  EXPECT_EQ(cells.Read().Sum(Counter::kUploadBytes), 0u);
}

TEST(CounterCells, ALossCountStaysAtTheLargestNumber) {
  constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();
  CounterCells cells;
  const std::size_t cell = CellOf(Counter::kOnceLosses);
  cells.AddSaturating(cell, kMost - 1);
  cells.AddSaturating(cell, 1);
  EXPECT_EQ(cells.Read().Of(Counter::kOnceLosses), kMost);
  cells.AddSaturating(cell, 3);
  EXPECT_EQ(cells.Read().Of(Counter::kOnceLosses), kMost);
}

struct BucketCase {
  uint64_t ns;
  std::size_t bucket;
};

TEST(HistogramCells, AValueBelongsToTheFirstBoundNotBelowIt) {
  for (const BucketCase& c :
       {BucketCase{0, 0}, BucketCase{1'000, 0}, BucketCase{1'001, 1}, BucketCase{2'500, 1},
        BucketCase{1'000'000, 9}, BucketCase{10'000'000'000, 21}, BucketCase{10'000'000'001, 22}}) {
    HistogramCells cells;
    cells.Observe(c.ns);
    const HistogramValues values = cells.Read();
    for (std::size_t i = 0; i < values.counts.size(); ++i) {
      EXPECT_EQ(values.counts[i], i == c.bucket ? 1u : 0u) << c.ns << " ns, bucket " << i;
    }
    EXPECT_EQ(values.sum_ns, c.ns);
  }
}

TEST(HistogramCells, InSecondsTheBucketsAreCumulativeFromAMicrosecondToTen) {
  HistogramCells cells;
  cells.Observe(500);
  cells.Observe(2'000'000);
  cells.Observe(60'000'000'000);
  const HistogramValue seconds = ToSeconds(cells.Read());
  ASSERT_EQ(seconds.buckets.size(), 22u);
  EXPECT_DOUBLE_EQ(seconds.buckets.front().upper_bound, 1e-6);
  EXPECT_DOUBLE_EQ(seconds.buckets.back().upper_bound, 10);
  EXPECT_EQ(seconds.buckets[9].cumulative_count, 1u);   // 1 ms
  EXPECT_EQ(seconds.buckets[10].cumulative_count, 2u);  // 2.5 ms
  EXPECT_EQ(seconds.buckets.back().cumulative_count, 2u);
  EXPECT_EQ(seconds.count, 3u);
  EXPECT_NEAR(seconds.sum, 60.0020005, 1e-9);
}

}  // namespace
}  // namespace keysieve::evidence
