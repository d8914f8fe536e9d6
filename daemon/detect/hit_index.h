// SPDX-License-Identifier: MIT
// A blob's literal hits by literal, so that a rule reads only its own.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "megakernel/literal.h"

namespace keysieve::detect {

// Immutable. Copies what it needs.
class HitIndex {
 public:
  // `hits` may come in any order, repeat, or name literals beyond `literals`, which are left out.
  HitIndex(std::span<const megakernel::LiteralHit> hits, size_t literals);

  // Where the literal begins, ascending. `literal` must be below `literals`.
  std::span<const uint64_t> StartsOf(uint32_t literal) const {
    return std::span(starts_).subspan(first_[literal], first_[literal + 1] - first_[literal]);
  }
  // Where any of `literals` begins, ascending, with repeats. `scratch` may hold the answer.
  std::span<const uint64_t> StartsOfAny(std::span<const uint32_t> literals,
                                        std::vector<uint64_t>* scratch) const;
  bool Has(uint32_t literal) const { return first_[literal] != first_[literal + 1]; }

 private:
  std::vector<size_t> first_;     // of each literal in starts_, and the end
  std::vector<uint64_t> starts_;  // by literal
};

}  // namespace keysieve::detect
