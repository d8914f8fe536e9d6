// SPDX-License-Identifier: MIT
// Differences of totals; see history.h.
#include "daemon/admin/history.h"

#include <cmath>

namespace keysieve::admin {

std::optional<double> QuantileBetween(const evidence::HistogramValues& before,
                                      const evidence::HistogramValues& after, double q) {
  std::array<uint64_t, evidence::kBucketBoundsNs.size() + 1> counts{};
  uint64_t all = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    counts[i] = after.counts[i] - before.counts[i];
    all += counts[i];
  }
  if (all == 0) return std::nullopt;
  const auto rank = static_cast<uint64_t>(std::ceil(q * static_cast<double>(all)));
  uint64_t seen = 0;
  for (size_t i = 0; i < evidence::kBucketBoundsNs.size(); ++i) {
    seen += counts[i];
    if (seen >= rank) return static_cast<double>(evidence::kBucketBoundsNs[i]) / 1e9;
  }
  return static_cast<double>(evidence::kBucketBoundsNs.back()) / 1e9;
}

bool History::Due(Clock::time_point now) const {
  MutexLock lock(mutex_);
  return !last_ || now - *last_ >= kPeriod;
}

void History::Take(Clock::time_point now, const Totals& totals) {
  MutexLock lock(mutex_);
  if (last_) {
    if (now - *last_ < kPeriod) return;
    const double seconds = std::chrono::duration<double>(now - *last_).count();
    points_.push_back(
        {.bytes_per_second = static_cast<double>(totals.bytes - before_.bytes) / seconds,
         .blobs_per_second = static_cast<double>(totals.blobs - before_.blobs) / seconds,
         .p50_seconds = QuantileBetween(before_.latency, totals.latency, 0.5),
         .p99_seconds = QuantileBetween(before_.latency, totals.latency, 0.99),
         .ring_used_ratio = totals.ring_used_ratio,
         .inflight_bytes = totals.inflight_bytes});
    if (points_.size() > kPoints) points_.pop_front();
  }
  last_ = now;
  before_ = totals;
}

std::vector<Point> History::Read() const {
  MutexLock lock(mutex_);
  return {points_.begin(), points_.end()};
}

}  // namespace keysieve::admin
