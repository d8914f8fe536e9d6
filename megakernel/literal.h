// SPDX-License-Identifier: MIT
// What goes into a literal table and what comes out of a scan, as plain data.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

namespace keysieve::megakernel {

inline constexpr uint32_t kMaxLiterals = 65536;    // in one table
inline constexpr uint32_t kMaxLiteralBytes = 255;  // of one literal; at least 1

// A byte string to find. Any byte value may occur, NUL too. With `ignore_case`, ASCII letters match
// either case; other bytes match themselves.
struct Literal {
  std::string bytes;
  bool ignore_case = false;
};

// One occurrence: literal `pattern` (its position in the list) at bytes [start, end).
struct LiteralHit {
  uint64_t start = 0;
  uint64_t end = 0;
  uint32_t pattern = 0;
  auto operator<=>(const LiteralHit&) const = default;  // (start, end, pattern): the sort order
};

}  // namespace keysieve::megakernel
