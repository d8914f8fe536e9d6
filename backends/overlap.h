// SPDX-License-Identifier: MIT
// How long copies ran while another submission's kernel did, from the device's own clock. Each
// nanosecond of a copy counts once, whichever kernels covered it and whichever completed first.
//
//   record.overlap_ns = tracker.Add({.kernel = kernel, .copies = copies});
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace keysieve::backends {

struct Interval {  // nanoseconds of one device clock, half-open
  uint64_t begin = 0;
  uint64_t end = 0;
};

class OverlapTracker {
 public:
  struct Work {
    std::optional<Interval> kernel;
    std::vector<Interval> copies;
  };

  // Nanoseconds of overlap that became known with this submission: its copies under the kernels of
  // submissions seen before, and their copies under its kernel. Remembers the last kRemembered.
  uint64_t Add(const Work& work);

 private:
  static constexpr size_t kRemembered = 32;
  struct Past {
    std::optional<Interval> kernel;
    std::vector<Interval> uncovered;  // pieces of copies no other kernel has covered yet
  };
  static uint64_t Cover(std::vector<Interval>& pieces, const Interval& kernel);

  std::deque<Past> past_;
};

}  // namespace keysieve::backends
