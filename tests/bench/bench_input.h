// SPDX-License-Identifier: MIT
// What the benches read and add up: pattern files, texts, medians and percentiles.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "megakernel/literal.h"

namespace keysieve::bench {

// A line a literal: `i` (ignore case) or `s`, a tab, the literal. NOT_FOUND names the file.
absl::StatusOr<std::vector<megakernel::Literal>> ReadPatterns(const std::string& path);
absl::StatusOr<std::string> ReadText(const std::string& path);

// The value that `share` of the values are at or below; 0 of none. 0.5 is the median.
double Percentile(std::vector<double> values, double share);

double SecondsSince(std::chrono::steady_clock::time_point begin);

// A sum over hits that does not depend on their order.
struct Tally {
  uint64_t hits = 0;
  uint64_t sum = 0;
  void Add(uint64_t start, uint64_t end, uint32_t pattern) {
    uint64_t x = start * 0x9e3779b97f4a7c15u + end * 0xbf58476d1ce4e5b9u + pattern;
    x ^= x >> 29;
    ++hits;
    sum += x * 0x94d049bb133111ebu;
  }
  bool operator==(const Tally&) const = default;
};

}  // namespace keysieve::bench
