// SPDX-License-Identifier: MIT
// A bit for each pair of bytes that begins a literal rejects nearly every place of a text at the
// cost of one look-up.
#include "daemon/detect/decode/literal_finder.h"

#include <algorithm>

#include "daemon/detect/ascii.h"

namespace keysieve::detect::decode {
namespace {

constexpr std::array<uint8_t, 256> MakeLower() {
  std::array<uint8_t, 256> lower{};
  for (int c = 0; c < 256; ++c) {
    lower[c] = static_cast<uint8_t>(c >= 'A' && c <= 'Z' ? c | 0x20 : c);
  }
  return lower;
}
constexpr auto kLower = MakeLower();

uint32_t Lower(char c) { return kLower[static_cast<uint8_t>(c)]; }

uint32_t PairAt(std::string_view text, uint64_t at) {
  return Lower(text[at]) << 8 | Lower(text[at + 1]);
}

bool MatchesAt(const megakernel::Literal& literal, std::string_view text, uint64_t at) {
  if (text.size() - at < literal.bytes.size()) return false;
  const std::string_view here = text.substr(at, literal.bytes.size());
  if (!literal.ignore_case) return here == literal.bytes;
  return std::equal(here.begin(), here.end(), literal.bytes.begin(),
                    [](char a, char b) { return Lower(a) == Lower(b); });
}

}  // namespace

LiteralFinder::LiteralFinder(std::span<const megakernel::Literal> literals)
    : literals_(literals), first_of_pair_(65537, 0) {
  for (const megakernel::Literal& literal : literals) {
    longest_ = std::max<uint64_t>(longest_, literal.bytes.size());
    if (literal.bytes.size() >= 2) ++first_of_pair_[PairAt(literal.bytes, 0) + 1];
  }
  for (size_t pair = 0; pair < 65536; ++pair) {
    pairs_[pair] = first_of_pair_[pair + 1] != 0;
    first_of_pair_[pair + 1] += first_of_pair_[pair];
  }
  of_pair_.resize(first_of_pair_.back());
  std::vector<uint32_t> next(first_of_pair_.begin(), first_of_pair_.end() - 1);
  for (uint32_t i = 0; i < literals.size(); ++i) {
    const std::string& bytes = literals[i].bytes;
    if (bytes.size() >= 2) of_pair_[next[PairAt(bytes, 0)]++] = i;
    if (bytes.size() != 1) continue;
    of_byte_[Lower(bytes[0])].push_back(i);
    has_single_ = true;
  }
}

void LiteralFinder::Try(std::string_view text, uint64_t at, std::span<const uint32_t> candidates,
                        std::vector<megakernel::LiteralHit>* hits) const {
  for (uint32_t i : candidates) {
    if (!MatchesAt(literals_[i], text, at)) continue;
    hits->push_back({at, at + literals_[i].bytes.size(), i});
  }
}

void LiteralFinder::Find(std::string_view text, Range where,
                         std::vector<megakernel::LiteralHit>* hits) const {
  const uint64_t end = std::min<uint64_t>(where.end, text.size());
  for (uint64_t at = where.start; at < end; ++at) {
    if (has_single_) Try(text, at, of_byte_[Lower(text[at])], hits);
    if (at + 1 >= text.size()) continue;
    const uint32_t pair = PairAt(text, at);
    if (!pairs_[pair]) continue;
    const std::span<const uint32_t> of_pair(of_pair_);
    Try(text, at,
        of_pair.subspan(first_of_pair_[pair], first_of_pair_[pair + 1] - first_of_pair_[pair]),
        hits);
  }
}

}  // namespace keysieve::detect::decode
