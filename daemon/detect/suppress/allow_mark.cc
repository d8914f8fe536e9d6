// SPDX-License-Identifier: MIT
// Both marks end alike, so one search for that end finds either.
#include "daemon/detect/suppress/allow_mark.h"

#include <array>

namespace keysieve::detect::suppress {
namespace {

constexpr std::string_view kEnd = ":allow";
constexpr std::array<std::string_view, 2> kMarks = {"keysieve:allow", "gitleaks:allow"};

}  // namespace

std::string_view AllowMarkOn(std::string_view lines) {
  for (size_t at = lines.find(kEnd); at != std::string_view::npos; at = lines.find(kEnd, at + 1)) {
    const std::string_view before = lines.substr(0, at + kEnd.size());
    for (std::string_view mark : kMarks) {
      if (before.ends_with(mark)) return mark;
    }
  }
  return {};
}

}  // namespace keysieve::detect::suppress
