// SPDX-License-Identifier: MIT
#include "daemon/admin/history.h"

#include <gtest/gtest.h>

namespace keysieve::admin {
namespace {

using std::chrono::milliseconds;

History::Clock::time_point At(int ms) { return History::Clock::time_point(milliseconds(ms)); }

TEST(History, RatesAreOfTheTimeBetweenTwoSamples) {
  History history;
  history.Take(At(0), {.bytes = 1000, .blobs = 5});
  EXPECT_TRUE(history.Read().empty());
  history.Take(At(500), {.bytes = 9000, .blobs = 9});  // too soon: not taken
  history.Take(At(2000), {.bytes = 5000, .blobs = 9, .ring_used_ratio = 0.5});
  const auto points = history.Read();
  ASSERT_EQ(points.size(), 1u);
  EXPECT_EQ(points[0].bytes_per_second, 2000);
  EXPECT_EQ(points[0].blobs_per_second, 2);
  EXPECT_EQ(points[0].ring_used_ratio, 0.5);
  EXPECT_FALSE(points[0].p99_seconds.has_value());
}

TEST(History, KeepsTheNewestPointsOnly) {
  History history;
  for (int i = 0; i <= 400; ++i) history.Take(At(i * 1000), {.bytes = uint64_t(i) * uint64_t(i)});
  const auto points = history.Read();
  ASSERT_EQ(points.size(), History::kPoints);
  EXPECT_EQ(points.back().bytes_per_second, 400 * 400 - 399 * 399);
  EXPECT_EQ(points.front().bytes_per_second, 101 * 101 - 100 * 100);
}

TEST(History, AQuantileIsTheBoundOfItsBucket) {
  evidence::HistogramCells cells;
  const auto before = cells.Read();
  EXPECT_FALSE(QuantileBetween(before, before, 0.5).has_value());
  for (int i = 0; i < 98; ++i) cells.Observe(900);    // up to 1 us
  for (int i = 0; i < 2; ++i) cells.Observe(40'000);  // up to 50 us
  const auto after = cells.Read();
  EXPECT_EQ(QuantileBetween(before, after, 0.5), 1e-6);
  EXPECT_EQ(QuantileBetween(before, after, 0.98), 1e-6);
  EXPECT_EQ(QuantileBetween(before, after, 0.99), 50e-6);
  for (int i = 0; i < 1000; ++i) cells.Observe(60'000'000'000);
  EXPECT_EQ(QuantileBetween(after, cells.Read(), 0.5), 10.0);
}

}  // namespace
}  // namespace keysieve::admin
