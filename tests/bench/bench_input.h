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

}  // namespace keysieve::bench
