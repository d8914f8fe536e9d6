// SPDX-License-Identifier: MIT
// A rule set ready to run: what scanning a blob reads, and nothing it would have to look up in the
// rule file again.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "daemon/detect/allowlist.h"
#include "daemon/detect/checksum.h"
#include "daemon/detect/fingerprint.h"
#include "daemon/detect/gate.h"
#include "daemon/detect/matcher.h"
#include "daemon/detect/regex.h"
#include "daemon/detect/rule_file.h"
#include "daemon/detect/rule_plan.h"

namespace keysieve::detect {

// Another rule that must be found too for a finding to stand.
struct RequiredRule {
  uint32_t rule = 0;
  std::optional<int64_t> within_lines;    // between the two start lines
  std::optional<int64_t> within_columns;  // between the two start columns
};

struct CompiledRule {
  std::string id;
  std::unique_ptr<const Regex> regex;          // null: the path alone decides
  std::unique_ptr<const Regex> path;           // null: any path
  std::unique_ptr<const RuleMatcher> matcher;  // null without a regex
  RulePlan plan;
  int secret_group = 0;  // 0: the first group that took part and is not empty
  double entropy = 0;    // a secret must have more; 0: any will do
  bool skip_report = false;
  Checksum checksum = Checksum::kNone;  // that its secrets end in
  bool generic = false;                 // gives way to a rule that knows better
  std::vector<Allowlist> allowlists;
  std::vector<RequiredRule> required;
};

// Immutable once built; thread-safe.
struct CompiledRules {
  std::vector<CompiledRule> rules;
  std::vector<Allowlist> allowlists;  // of every rule
  Gate gate;
  Fingerprinter fingerprinter;
};

// Compiles a checked set; adds what is odd to `warnings`.
absl::StatusOr<CompiledRules> CompileRules(const RuleFile& set, const FingerprintKeys& keys,
                                           std::vector<std::string>* warnings);

}  // namespace keysieve::detect
