// SPDX-License-Identifier: MIT
// The last five minutes, a point a second, for the status page's charts: so that the page shows
// what was before it was opened, and without a script. One thread takes samples, any thread reads.
//
//   history.Take(now, {.bytes = counters.bytes, ...});   // totals go in
//   history.Read().back().bytes_per_second;              // rates come out
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "evidence/base/mutex.h"
#include "evidence/cells.h"

namespace keysieve::admin {

// As they stand: totals since the start, and gauges.
struct Totals {
  uint64_t bytes = 0;
  uint64_t blobs = 0;
  evidence::HistogramValues latency;
  double ring_used_ratio = 0;  // of the fullest lane
  uint64_t inflight_bytes = 0;
};

struct Point {
  double bytes_per_second = 0;
  double blobs_per_second = 0;
  // Absent where no blob ended in the second.
  std::optional<double> p50_seconds;
  std::optional<double> p99_seconds;
  double ring_used_ratio = 0;
  uint64_t inflight_bytes = 0;
};

// An upper bound of the quantile `q` in 0..1, in seconds: the bound of the bucket it falls in; past
// the last bound that bound. Nothing if nothing was counted between the two readings.
std::optional<double> QuantileBetween(const evidence::HistogramValues& before,
                                      const evidence::HistogramValues& after, double q);

class History {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr size_t kPoints = 300;
  static constexpr std::chrono::seconds kPeriod{1};

  // Adds a point if a period has passed since the last one; rates are those of the time in between.
  void Take(Clock::time_point now, const Totals& totals);
  bool Due(Clock::time_point now) const;

  // Oldest first, kPoints at most.
  std::vector<Point> Read() const;

 private:
  mutable Mutex mutex_;
  std::optional<Clock::time_point> last_ ABSL_GUARDED_BY(mutex_);
  Totals before_ ABSL_GUARDED_BY(mutex_);
  std::deque<Point> points_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace keysieve::admin
