// SPDX-License-Identifier: MIT
// The atomics a recorder owns: one cell for every counter and label value, one for every histogram
// bucket, and the plain values read from them. Adding is wait-free and may come from any thread;
// reading beside it sees each cell whole, though not all cells at one moment.
//
//   CounterCells cells;
//   cells.Add(CellOf(Counter::kFaults, Index(FaultKind::kTimeout)), 1);
//   cells.Read().Of(Counter::kFaults, Index(FaultKind::kTimeout));  // 1
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "evidence/vocabulary.h"

namespace keysieve::evidence {

namespace internal {
constexpr std::array<std::size_t, kCounters + 1> CellOffsets() {
  std::array<std::size_t, kCounters + 1> offsets{};
  for (std::size_t i = 0; i < kCounters; ++i) {
    offsets[i + 1] = offsets[i] + LabelCount(kCounterRows[i].label);
  }
  return offsets;
}
inline constexpr auto kCellOffsets = CellOffsets();
}  // namespace internal

inline constexpr std::size_t kCounterCells = internal::kCellOffsets[kCounters];

// `label` is below the row's LabelCount().
constexpr std::size_t CellOf(Counter counter, std::size_t label = 0) {
  return internal::kCellOffsets[Index(counter)] + label;
}

struct CounterValues {
  std::array<uint64_t, kCounterCells> cells{};

  uint64_t Of(Counter counter, std::size_t label = 0) const {
    return cells[CellOf(counter, label)];
  }
  // Over every label value.
  uint64_t Sum(Counter counter) const {
    uint64_t sum = 0;
    for (std::size_t i = 0; i < LabelCount(kCounterRows[Index(counter)].label); ++i) {
      sum += Of(counter, i);
    }
    return sum;
  }
};

class CounterCells {
 public:
  void Add(std::size_t cell, uint64_t n) noexcept {
    cells_[cell].fetch_add(n, std::memory_order_relaxed);
  }
  // Stays at the largest number instead of wrapping: for counts of loss.
  void AddSaturating(std::size_t cell, uint64_t n) noexcept {
    constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();
    uint64_t old = cells_[cell].load(std::memory_order_relaxed);
    while (!cells_[cell].compare_exchange_weak(old, n > kMost - old ? kMost : old + n,
                                               std::memory_order_relaxed)) {
    }
  }
  CounterValues Read() const noexcept {
    CounterValues values;
    for (std::size_t i = 0; i < kCounterCells; ++i) {
      values.cells[i] = cells_[i].load(std::memory_order_relaxed);
    }
    return values;
  }
  // Only while nothing adds.
  void Clear() noexcept {
    for (auto& cell : cells_) cell.store(0, std::memory_order_relaxed);
  }

 private:
  std::array<std::atomic<uint64_t>, kCounterCells> cells_{};
};

// Upper bounds in nanoseconds: 1, 2.5 and 5 per decade from 1 us to 10 s. A value equal to a bound
// belongs to that bound's bucket, as Prometheus has it.
inline constexpr std::array<uint64_t, 22> kBucketBoundsNs = {
    1'000,         2'500,         5'000,         10'000,        25'000,      50'000,
    100'000,       250'000,       500'000,       1'000'000,     2'500'000,   5'000'000,
    10'000'000,    25'000'000,    50'000'000,    100'000'000,   250'000'000, 500'000'000,
    1'000'000'000, 2'500'000'000, 5'000'000'000, 10'000'000'000};

struct HistogramValues {
  std::array<uint64_t, kBucketBoundsNs.size() + 1> counts{};  // per bucket; the last is over 10 s
  uint64_t sum_ns = 0;
};

class HistogramCells {
 public:
  void Observe(uint64_t ns) noexcept {
    const auto bound = std::lower_bound(kBucketBoundsNs.begin(), kBucketBoundsNs.end(), ns);
    counts_[bound - kBucketBoundsNs.begin()].fetch_add(1, std::memory_order_relaxed);
    sum_ns_.fetch_add(ns, std::memory_order_relaxed);
  }
  HistogramValues Read() const noexcept {
    HistogramValues values;
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      values.counts[i] = counts_[i].load(std::memory_order_relaxed);
    }
    values.sum_ns = sum_ns_.load(std::memory_order_relaxed);
    return values;
  }

 private:
  std::array<std::atomic<uint64_t>, kBucketBoundsNs.size() + 1> counts_{};
  std::atomic<uint64_t> sum_ns_{0};
};

}  // namespace keysieve::evidence
