// SPDX-License-Identifier: MIT
// Text and lines; see html.h.
#include "daemon/admin/html.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "evidence/base/status.h"
#include "evidence/utf8.h"

namespace keysieve::admin {
namespace {

constexpr double kWidth = 600;
constexpr double kHeight = 120;

std::string Number(double value, int decimals) {
  char text[64];
  std::snprintf(text, sizeof(text), "%.*f", decimals, value);
  return text;
}

// Three digits that count: 1.23, 12.3, 123.
std::string Short(double value) { return Number(value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0); }

double Largest(const std::vector<Series>& series) {
  double largest = 0;
  for (const Series& one : series) {
    for (const auto& value : one.values) largest = std::max(largest, value.value_or(0));
  }
  return largest > 0 ? largest : 1;
}

// Runs of values that are there, a path each; a lone value is a short dash.
std::string PathOf(const Series& series, size_t points, double largest) {
  const double step = kWidth / static_cast<double>(std::max<size_t>(points - 1, 1));
  const size_t n = std::min(points, series.values.size());
  std::string path;
  bool drawing = false;
  for (size_t i = 0; i < n; ++i) {
    const auto& value = series.values[series.values.size() - n + i];
    if (!value) {
      drawing = false;
      continue;
    }
    const double x = kWidth - static_cast<double>(n - 1 - i) * step;
    const double y = kHeight - 2 - *value / largest * (kHeight - 6);
    if (!drawing) path += Cat("M", Number(x - step / 2, 1), " ", Number(y, 1));
    path += Cat("L", Number(x, 1), " ", Number(y, 1));
    drawing = true;
  }
  return path;
}

}  // namespace

std::string Escaped(std::string_view text) {
  std::string out;
  for (const char c : evidence::ValidUtf8(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string BytesText(double bytes) {
  constexpr std::array<const char*, 6> kUnits = {"B", "kB", "MB", "GB", "TB", "PB"};
  size_t unit = 0;
  while (bytes >= 999.5 && unit + 1 < kUnits.size()) {
    bytes /= 1000;
    ++unit;
  }
  return Cat(unit == 0 ? Number(bytes, 0) : Short(bytes), " ", kUnits[unit]);
}

std::string DurationText(double seconds) {
  if (seconds < 0.9995e-3) return Cat(Short(seconds * 1e6), " us");
  if (seconds < 0.9995) return Cat(Short(seconds * 1e3), " ms");
  if (seconds < 60) return Cat(Short(seconds), " s");
  const auto whole = static_cast<uint64_t>(seconds);
  constexpr uint64_t kMinute = 60;
  constexpr uint64_t kHour = 60 * kMinute;
  constexpr uint64_t kDay = 24 * kHour;
  if (whole < kHour) return Cat(whole / kMinute, " min ", whole % kMinute, " s");
  if (whole < kDay) return Cat(whole / kHour, " h ", whole % kHour / kMinute, " min");
  return Cat(whole / kDay, " d ", whole % kDay / kHour, " h");
}

std::string CountText(double count) {
  if (count < 9.95 && count != std::floor(count)) return Number(count, 1);
  std::string digits = Number(count, 0);
  for (size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, ",");
  return digits;
}

std::string LineChart(const std::vector<Series>& series, size_t points, std::string_view title,
                      double scale) {
  const double largest = scale > 0 ? scale : Largest(series);
  std::string svg =
      Cat("<svg class=\"chart\" viewBox=\"0 0 ", kWidth, " ", kHeight,
          "\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"", Escaped(title), "\">");
  for (const double part : {0.25, 0.5, 0.75}) {
    const std::string y = Number(kHeight - 2 - part * (kHeight - 6), 1);
    svg += Cat("<line class=\"grid\" x1=\"0\" y1=\"", y, "\" x2=\"", kWidth, "\" y2=\"", y, "\"/>");
  }
  for (const Series& one : series) {
    const std::string path = PathOf(one, points, largest);
    if (!path.empty()) svg += Cat("<path class=\"", one.css_class, "\" d=\"", path, "\"/>");
  }
  return svg + "</svg>";
}

}  // namespace keysieve::admin
