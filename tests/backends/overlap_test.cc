// SPDX-License-Identifier: MIT
// Copies under other submissions' kernels are counted to the nanosecond, once.
#include "backends/overlap.h"

#include <gtest/gtest.h>

namespace keysieve::backends {
namespace {

TEST(OverlapTracker, ACopyUnderItsOwnKernelDoesNotCount) {
  OverlapTracker tracker;
  EXPECT_EQ(tracker.Add({.kernel = Interval{0, 100}, .copies = {{10, 20}}}), 0u);
}

TEST(OverlapTracker, AnUploadUnderAnEarlierKernelCounts) {
  OverlapTracker tracker;
  tracker.Add({.kernel = Interval{100, 200}});
  EXPECT_EQ(tracker.Add({.copies = {{150, 250}}}), 50u);
}

TEST(OverlapTracker, AReadbackUnderALaterKernelCountsWhenThatKernelIsKnown) {
  OverlapTracker tracker;
  EXPECT_EQ(tracker.Add({.kernel = Interval{0, 100}, .copies = {{100, 140}}}), 0u);
  EXPECT_EQ(tracker.Add({.kernel = Interval{110, 300}}), 30u);
}

TEST(OverlapTracker, TwoKernelsOverOneCopyCountItOnce) {
  OverlapTracker tracker;
  tracker.Add({.kernel = Interval{0, 60}});
  tracker.Add({.kernel = Interval{40, 100}});
  EXPECT_EQ(tracker.Add({.copies = {{0, 100}}}), 100u);
  EXPECT_EQ(tracker.Add({.kernel = Interval{0, 100}}), 0u);
}

TEST(OverlapTracker, AHoleStaysUncovered) {
  OverlapTracker tracker;
  tracker.Add({.kernel = Interval{40, 60}});
  EXPECT_EQ(tracker.Add({.copies = {{0, 100}}}), 20u);
  EXPECT_EQ(tracker.Add({.kernel = Interval{0, 50}}), 40u);
  EXPECT_EQ(tracker.Add({.kernel = Interval{0, 1000}}), 40u);
}

}  // namespace
}  // namespace keysieve::backends
