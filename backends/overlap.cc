// SPDX-License-Identifier: MIT
// Subtracts kernels from copies.
#include "backends/overlap.h"

#include <algorithm>
#include <utility>

namespace keysieve::backends {

uint64_t OverlapTracker::Cover(std::vector<Interval>& pieces, const Interval& kernel) {
  uint64_t covered = 0;
  std::vector<Interval> left;
  for (const Interval& piece : pieces) {
    const uint64_t begin = std::max(piece.begin, kernel.begin);
    const uint64_t end = std::min(piece.end, kernel.end);
    if (begin >= end) {
      left.push_back(piece);
      continue;
    }
    covered += end - begin;
    if (piece.begin < begin) left.push_back({piece.begin, begin});
    if (end < piece.end) left.push_back({end, piece.end});
  }
  pieces = std::move(left);
  return covered;
}

uint64_t OverlapTracker::Add(const Work& work) {
  uint64_t covered = 0;
  Past now{work.kernel, work.copies};
  for (Past& past : past_) {
    if (past.kernel) covered += Cover(now.uncovered, *past.kernel);
    if (now.kernel) covered += Cover(past.uncovered, *now.kernel);
  }
  past_.push_back(std::move(now));
  if (past_.size() > kRemembered) past_.pop_front();
  return covered;
}

}  // namespace keysieve::backends
