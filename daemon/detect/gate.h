// SPDX-License-Identifier: MIT
// Decides which rules look at a blob, from the literals found in it. A rule with keywords wants one
// of them, anywhere in the blob. A rule without goes by the literals its regex cannot match
// without, where it has any, and else always looks.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "daemon/detect/regex.h"
#include "daemon/detect/rule_set.h"
#include "megakernel/literal.h"

namespace re2 {
class FilteredRE2;
}

namespace keysieve::detect {

// What the gate needs to know of one rule. Borrowed during Build().
struct GatedRule {
  const std::vector<Text>* keywords = nullptr;
  const Regex* regex = nullptr;  // null for a rule that judges the path only
  std::string subject;           // for messages
};

// Immutable; thread-safe.
class Gate {
 public:
  // INVALID_ARGUMENT if a keyword is too long for a literal, or there are too many.
  static absl::StatusOr<Gate> Build(std::span<const GatedRule> rules);
  Gate(Gate&&) noexcept;
  Gate& operator=(Gate&&) noexcept;
  ~Gate();

  // Keywords and required literals, lower case, each once, in a settled order.
  std::span<const megakernel::Literal> literals() const { return literals_; }
  std::span<const Route> routes() const { return routes_; }

  // One byte a rule, in order: 1 where it must look. `hits` may come in any order, and repeat.
  std::vector<uint8_t> Candidates(std::span<const megakernel::LiteralHit> hits) const;

 private:
  struct Builder;
  Gate();
  void MarkLiteralRules(const std::vector<uint8_t>& seen, std::vector<uint8_t>* wanted) const;

  std::vector<megakernel::Literal> literals_;
  std::vector<Route> routes_;
  std::vector<std::vector<uint32_t>> rules_of_literal_;  // by keyword
  std::unique_ptr<re2::FilteredRE2> filter_;             // rules without keywords; may be null
  std::vector<uint32_t> filter_rules_;                   // filter's position -> rule
  std::vector<uint32_t> atom_literals_;                  // filter's atom -> literal
};

}  // namespace keysieve::detect
