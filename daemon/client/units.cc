// SPDX-License-Identifier: MIT
// Rounding happens here and nowhere else.
#include "daemon/client/units.h"

#include <cstdio>
#include <iterator>

#include "evidence/base/status.h"

namespace keysieve::client {

std::string BytesText(uint64_t bytes) {
  if (bytes < 1000) return Cat(bytes, " B");
  constexpr const char* kUnits[] = {"kB", "MB", "GB", "TB", "PB", "EB"};
  double value = static_cast<double>(bytes) / 1000;
  size_t unit = 0;
  while (value >= 999.95 && unit + 1 < std::size(kUnits)) {
    value /= 1000;
    ++unit;
  }
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f %s", value, kUnits[unit]);
  return text;
}

std::string SecondsText(double seconds) {
  if (seconds >= 60) {
    const auto whole = static_cast<uint64_t>(seconds);
    return Cat(whole / 60, " min ", whole % 60, " s");
  }
  char text[32];
  std::snprintf(text, sizeof(text), "%.2f s", seconds);
  return text;
}

std::string CountText(uint64_t count, std::string_view noun) {
  if (count == 1) return Cat(count, " ", noun);
  const bool sibilant = noun.size() > 2 && noun.substr(noun.size() - 2) == "ch";
  return Cat(count, " ", noun, sibilant ? "es" : "s");
}

}  // namespace keysieve::client
