// SPDX-License-Identifier: MIT
// The sets are ASCII, as RE2's are, and built by range.
#include "daemon/detect/byte_class.h"

#include <array>
#include <utility>

namespace keysieve::detect {

ByteSet ByteRangeSet(unsigned char low, unsigned char high) {
  ByteSet set;
  for (int c = low; c <= high; ++c) set.set(c);
  return set;
}

ByteSet PerlClass(char letter) {
  if (letter == 'd') return ByteRangeSet('0', '9');
  if (letter == 's') {
    return ByteRangeSet('\t', '\n') | ByteRangeSet('\f', '\r') | ByteRangeSet(' ', ' ');
  }
  if (letter == 'w') return PosixClass("word");
  return {};
}

ByteSet PosixClass(std::string_view name) {
  const ByteSet digit = ByteRangeSet('0', '9');
  const ByteSet lower = ByteRangeSet('a', 'z');
  const ByteSet upper = ByteRangeSet('A', 'Z');
  const ByteSet graph = ByteRangeSet('!', '~');
  const ByteSet alnum = digit | lower | upper;
  const std::array<std::pair<std::string_view, ByteSet>, 14> classes = {{
      {"alnum", alnum},
      {"alpha", lower | upper},
      {"ascii", ByteRangeSet(0, 127)},
      {"blank", ByteRangeSet('\t', '\t') | ByteRangeSet(' ', ' ')},
      {"cntrl", ByteRangeSet(0, 31) | ByteRangeSet(127, 127)},
      {"digit", digit},
      {"graph", graph},
      {"lower", lower},
      {"print", ByteRangeSet(' ', '~')},
      {"punct", graph & ~alnum},
      {"space", ByteRangeSet('\t', '\r') | ByteRangeSet(' ', ' ')},
      {"upper", upper},
      {"word", alnum | ByteRangeSet('_', '_')},
      {"xdigit", digit | ByteRangeSet('a', 'f') | ByteRangeSet('A', 'F')},
  }};
  for (const auto& [known, set] : classes) {
    if (known == name) return set;
  }
  return {};
}

ByteSet FoldCase(ByteSet bytes) {
  for (int c = 'a'; c <= 'z'; ++c) {
    const int upper = c - 'a' + 'A';
    if (bytes[c] || bytes[upper]) {
      bytes.set(c);
      bytes.set(upper);
    }
  }
  return bytes;
}

}  // namespace keysieve::detect
