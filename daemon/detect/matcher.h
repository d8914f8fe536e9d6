// SPDX-License-Identifier: MIT
// Finds a rule's matches in a blob: leftmost first, not overlapping, each search going on where the
// last match ended, as Go's FindAllIndex does. How much of the blob it reads to do so is the plan's
// affair; the answer is always the whole blob's.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "daemon/detect/hit_index.h"
#include "daemon/detect/regex.h"
#include "daemon/detect/regex/windows.h"
#include "daemon/detect/rule_plan.h"

namespace keysieve::detect {

// Bytes [start, end) of a blob.
struct ByteRange {
  uint64_t start = 0;
  uint64_t end = 0;
  auto operator<=>(const ByteRange&) const = default;
};

// Immutable; thread-safe.
class RuleMatcher {
 public:
  // Borrows `regex`, which must outlive it. `literals` are the positions of the plan's literals in
  // the table whose hits FindAll() is given.
  RuleMatcher(const Regex& regex, const PlannedRule& rule, std::vector<uint32_t> literals)
      : route_(rule.plan.route),
        literals_(std::move(literals)),
        windows_(regex.re2(), rule.analysis, /*groups=*/0) {}

  // Sets `matches` to all matches but empty ones, in order. `hits` are all hits of the table in the
  // blob. `scratch` is the caller's, for any use in between.
  void FindAll(std::string_view text, const HitIndex& hits, std::vector<uint64_t>* scratch,
               std::vector<ByteRange>* matches) const;

 private:
  Route route_;
  std::vector<uint32_t> literals_;
  regex::WindowedMatcher windows_;
};

}  // namespace keysieve::detect
