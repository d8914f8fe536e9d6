// SPDX-License-Identifier: MIT
// Case in ASCII, and in ASCII alone: a byte that is no letter there is itself on every route.
#pragma once

#include <string>
#include <string_view>

namespace keysieve::detect {

inline char LowerAscii(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; }

inline std::string LowerAscii(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = LowerAscii(c);
  return out;
}

}  // namespace keysieve::detect
