// SPDX-License-Identifier: MIT
// How a rule comes to look at a blob, decided once from its regex and its keywords: by the literals
// its matches cannot do without, by runs of one class, or from end to end.
//
//   PlannedRule rule = PlanRule(*regex, {"ghp_"}, regex::Profile::Default());
//   rule.plan.route;     // Route::kLiterals
//   rule.plan.literals;  // "ghp_"
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "daemon/detect/regex/cuts.h"
#include "megakernel/literal.h"

namespace keysieve::detect {

class Regex;

// Where the regex runs.
enum class Route : uint8_t {
  kLiterals,   // round the hits of the literals that every match holds one of
  kRuns,       // round runs of one class of bytes, which the host looks for: no literal is required
  kWholeBlob,  // over all of the blob
  kPath,       // nowhere: the rule judges the path only
};

// "literals", "runs", "whole blob", "path".
const char* ToString(Route route);

struct RulePlan {
  Route route = Route::kPath;
  std::vector<megakernel::Literal> literals;  // for kLiterals
  // Lower case; the rule looks only at blobs that hold one of these. Empty if it names none, or if
  // none of its matches is without.
  std::vector<std::string> keywords;
  // How far a match reaches to both sides of where a literal or a run begins, in bytes; absent:
  // without limit. For kLiterals and kRuns.
  std::optional<uint64_t> before;
  std::optional<uint64_t> after;
  uint64_t shortest = 0;            // bytes of a match, at least
  std::optional<uint64_t> longest;  // at most; absent: without limit
  uint64_t run_bytes = 0;           // for kRuns: how long a run must be
  double hits_per_mb = 0;           // of the literals in source text, estimated
  std::string reason;               // for kWholeBlob: one clause
};

struct PlannedRule {
  RulePlan plan;
  regex::Analysis analysis;  // empty for kWholeBlob
};

// Pure. `keywords` are lower case.
PlannedRule PlanRule(const Regex& regex, const std::vector<std::string>& keywords,
                     const regex::Profile& profile);

}  // namespace keysieve::detect
