// SPDX-License-Identifier: MIT
// Finds a rule's matches in a blob: leftmost first, not overlapping, each search going on where the
// last match ended, as Go's FindAllIndex does. How much of the blob it reads to do so is its own
// affair; the answer is always the whole blob's.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "daemon/detect/hit_index.h"
#include "daemon/detect/regex.h"
#include "daemon/detect/required_literals.h"

namespace keysieve::detect {

// Bytes [start, end) of a blob.
struct ByteRange {
  uint64_t start = 0;
  uint64_t end = 0;
  auto operator<=>(const ByteRange&) const = default;
};

// Immutable; FindAll() is thread-safe.
class RuleMatcher {
 public:
  virtual ~RuleMatcher() = default;

  // Appends all matches but empty ones, in order. `hits` are all hits of the set's literals in the
  // blob; a matcher may leave them aside.
  virtual void FindAll(std::string_view text, const HitIndex& hits,
                       std::vector<ByteRange>* matches) const = 0;
};

// Runs the regex over the whole blob. Borrows `regex`, which must outlive it.
std::unique_ptr<RuleMatcher> WholeBlobMatcher(const Regex* regex);

// Runs the regex only where hits of its required literals say that a match may begin, and as far as
// a match may reach. `literals` are the positions of `required.literals` in the set. Borrows
// `regex`, which must outlive it.
std::unique_ptr<RuleMatcher> WindowMatcher(const Regex* regex, const RequiredLiterals& required,
                                           std::vector<uint32_t> literals);

}  // namespace keysieve::detect
