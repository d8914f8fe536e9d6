// SPDX-License-Identifier: MIT
// Small pieces of a page: escaped text, numbers people read, and line charts as SVG.
//
//   out += Escaped(device.name);
//   out += LineChart({{"p50", "line-a", values}}, "Latency over five minutes");
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace keysieve::admin {

// Safe between tags and in quoted attributes; bytes that are no UTF-8 become U+FFFD.
std::string Escaped(std::string_view text);

std::string BytesText(double bytes);       // "1.5 MB", powers of 1000 up to PB
std::string DurationText(double seconds);  // "250 us", "1.2 ms", "3.4 s", "2 h 5 min"
std::string CountText(double count);       // "12,345"; one decimal below 10 if it has any

struct Series {
  std::string_view css_class;                 // colours stand in the style sheet
  std::vector<std::optional<double>> values;  // oldest first; absent = no line there
};

// The series over the last `points` values, the newest at the right, on a scale from 0 to `scale`,
// or to the largest value where that is 0 (1 if all are 0). `title` is what a screen reader says.
std::string LineChart(const std::vector<Series>& series, size_t points, std::string_view title,
                      double scale = 0);

}  // namespace keysieve::admin
