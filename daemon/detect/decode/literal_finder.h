// SPDX-License-Identifier: MIT
// Literal hits in text that no device sees, because it was decoded on the host: the same hits a
// session would give, for a stretch of a text.
//
//   LiteralFinder finder(rules.literals());
//   finder.Find(text, {begin, end}, &hits);
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "daemon/detect/decode/layer.h"
#include "megakernel/literal.h"

namespace keysieve::detect::decode {

// Immutable; thread-safe. Borrows the literals.
class LiteralFinder {
 public:
  explicit LiteralFinder(std::span<const megakernel::Literal> literals);

  // Appends the hits that begin in `where`, wherever they end, in order of their starts.
  void Find(std::string_view text, Range where, std::vector<megakernel::LiteralHit>* hits) const;

  uint64_t longest() const { return longest_; }  // bytes of the longest literal

 private:
  void Try(std::string_view text, uint64_t at, std::span<const uint32_t> candidates,
           std::vector<megakernel::LiteralHit>* hits) const;

  std::span<const megakernel::Literal> literals_;
  uint64_t longest_ = 0;
  // Literals by their first two bytes, letters in lower case: those of pair p are
  // of_pair_[first_of_pair_[p]] up to the next pair's. Those of one byte stand apart.
  std::bitset<65536> pairs_;
  std::vector<uint32_t> first_of_pair_;
  std::vector<uint32_t> of_pair_;
  std::array<std::vector<uint32_t>, 256> of_byte_;
  bool has_single_ = false;
};

}  // namespace keysieve::detect::decode
