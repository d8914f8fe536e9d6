// SPDX-License-Identifier: MIT
// The literals by the first byte they may begin with, tried at every byte of the text.
#include "daemon/detect/literal_search.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "daemon/detect/ascii.h"

namespace keysieve::detect {
namespace {

unsigned char Lower(char c) { return static_cast<unsigned char>(LowerAscii(c)); }

bool MatchesAt(const megakernel::Literal& literal, std::string_view text) {
  if (text.size() < literal.bytes.size()) return false;
  if (!literal.ignore_case) return text.starts_with(literal.bytes);
  return std::equal(literal.bytes.begin(), literal.bytes.end(), text.begin(),
                    [](char a, char b) { return LowerAscii(a) == LowerAscii(b); });
}

}  // namespace

std::vector<megakernel::LiteralHit> SearchLiterals(std::span<const megakernel::Literal> literals,
                                                   std::string_view text) {
  std::array<std::vector<uint32_t>, 256> by_first;  // by lower-cased first byte
  for (uint32_t i = 0; i < literals.size(); ++i) {
    if (literals[i].bytes.empty()) continue;
    by_first[Lower(literals[i].bytes[0])].push_back(i);
  }
  std::vector<megakernel::LiteralHit> hits;
  for (size_t at = 0; at < text.size(); ++at) {
    for (uint32_t i : by_first[Lower(text[at])]) {
      if (MatchesAt(literals[i], text.substr(at))) {
        hits.push_back({at, at + literals[i].bytes.size(), i});
      }
    }
  }
  std::sort(hits.begin(), hits.end());
  return hits;
}

}  // namespace keysieve::detect
