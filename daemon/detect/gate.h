// SPDX-License-Identifier: MIT
// Decides which rules look at a blob, from the literals found in it. A rule with keywords wants one
// of them, anywhere in the blob. A rule without goes by the literals its regex cannot match
// without, where it has any, and else always looks.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "daemon/detect/hit_index.h"
#include "daemon/detect/regex.h"
#include "daemon/detect/required_literals.h"
#include "daemon/detect/rule_set.h"
#include "megakernel/literal.h"

namespace keysieve::detect {

// What the gate needs to know of one rule. Borrowed during Build().
struct GatedRule {
  const std::vector<Text>* keywords = nullptr;
  const Regex* regex = nullptr;                // null for a rule that judges the path only
  const RequiredLiterals* required = nullptr;  // null: its regex has none
  std::string subject;                         // for messages
};

// The keywords that count, lower case. INVALID_ARGUMENT if one is too long for a literal.
absl::StatusOr<std::vector<std::string>> KeywordsOf(const GatedRule& rule);

// Immutable; thread-safe.
class Gate {
 public:
  // INVALID_ARGUMENT if a keyword is too long for a literal, or there are too many.
  static absl::StatusOr<Gate> Build(std::span<const GatedRule> rules);

  // Keywords and required literals, lower case, each once, in a settled order.
  std::span<const megakernel::Literal> literals() const { return literals_; }
  std::span<const Route> routes() const { return routes_; }

  // The positions of a rule's required literals, in their order.
  const std::vector<uint32_t>& required(size_t rule) const { return required_[rule]; }

  // One byte a rule, in order: 1 where it must look.
  std::vector<uint8_t> Candidates(const HitIndex& hits) const;

 private:
  struct Builder;

  std::vector<megakernel::Literal> literals_;
  std::vector<Route> routes_;
  std::vector<std::vector<uint32_t>> rules_of_literal_;  // whose gate the literal opens
  std::vector<std::vector<uint32_t>> required_;          // by rule
};

}  // namespace keysieve::detect
