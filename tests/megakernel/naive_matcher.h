// SPDX-License-Identifier: MIT
// The plainest matcher there is, an oracle that shares no code with the tables or the program:
// every literal that has a position's byte for its first tried there, byte by byte.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "megakernel/literal.h"

namespace keysieve::test {

inline bool NaiveSameByte(uint8_t text, uint8_t literal, bool ignore_case) {
  if (text == literal) return true;
  if (!ignore_case) return false;
  const auto lower = [](uint8_t c) { return c >= 'A' && c <= 'Z' ? c + 32 : c; };
  return lower(text) == lower(literal);
}

// Hits whose start lies in [owned_begin, owned_end), sorted by (start, end, pattern).
inline std::vector<megakernel::LiteralHit> NaiveMatches(
    std::span<const megakernel::Literal> literals, std::span<const uint8_t> text,
    size_t owned_begin, size_t owned_end) {
  std::vector<std::vector<uint32_t>> beginning(256);
  for (uint32_t byte = 0; byte < 256; ++byte) {
    for (uint32_t pattern = 0; pattern < literals.size(); ++pattern) {
      if (NaiveSameByte(static_cast<uint8_t>(byte),
                        static_cast<uint8_t>(literals[pattern].bytes[0]),
                        literals[pattern].ignore_case)) {
        beginning[byte].push_back(pattern);
      }
    }
  }
  std::vector<megakernel::LiteralHit> hits;
  for (size_t start = owned_begin; start < owned_end; ++start) {
    for (const uint32_t pattern : beginning[text[start]]) {
      const std::string& bytes = literals[pattern].bytes;
      size_t i = 0;
      while (i < bytes.size() && start + i < text.size() &&
             NaiveSameByte(text[start + i], static_cast<uint8_t>(bytes[i]),
                           literals[pattern].ignore_case)) {
        ++i;
      }
      if (i == bytes.size()) hits.push_back({start, start + i, pattern});
    }
  }
  std::sort(hits.begin(), hits.end());
  return hits;
}

inline std::vector<megakernel::LiteralHit> NaiveMatches(
    std::span<const megakernel::Literal> literals, std::span<const uint8_t> text) {
  return NaiveMatches(literals, text, 0, text.size());
}

// "same", or the counts and the first hit that only one side has.
inline std::string Difference(const std::vector<megakernel::LiteralHit>& got,
                              const std::vector<megakernel::LiteralHit>& want) {
  if (got == want) return "same";
  size_t i = 0;
  while (i < got.size() && i < want.size() && got[i] == want[i]) ++i;
  const auto show = [i](const std::vector<megakernel::LiteralHit>& hits) {
    if (i >= hits.size()) return std::string("the end");
    return "[" + std::to_string(hits[i].start) + ", " + std::to_string(hits[i].end) + ") of " +
           std::to_string(hits[i].pattern);
  };
  return std::to_string(got.size()) + " hits instead of " + std::to_string(want.size()) +
         "; number " + std::to_string(i) + " is " + show(got) + " instead of " + show(want);
}

inline std::span<const uint8_t> Bytes(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

}  // namespace keysieve::test
