// SPDX-License-Identifier: MIT
// Decides which rules look at a blob, from the hits of one table: every rule's keywords, where its
// matches could be without them, and every rule's required literals. A rule looks at a blob that
// holds one of its keywords, if it waits for any, and one of its literals, if it has any.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "daemon/detect/hit_index.h"
#include "daemon/detect/rule_plan.h"
#include "megakernel/literal.h"

namespace keysieve::detect {

// Immutable; thread-safe.
class Gate {
 public:
  // INVALID_ARGUMENT if there are too many literals.
  static absl::StatusOr<Gate> Build(std::span<const RulePlan> plans);

  // Keywords and required literals, each once, in a settled order.
  std::span<const megakernel::Literal> literals() const { return literals_; }

  // The positions of a rule's required literals, in their order.
  const std::vector<uint32_t>& required(size_t rule) const { return required_[rule]; }

  // One byte a rule, in order: 1 where it must look.
  std::vector<uint8_t> Candidates(const HitIndex& hits) const;

 private:
  struct Builder;
  // What a hit of a literal tells of a rule.
  struct Opens {
    uint32_t rule = 0;
    uint8_t need = 0;  // kNeeds...
  };

  std::vector<megakernel::Literal> literals_;
  std::vector<uint8_t> needs_;                   // by rule: what it waits for
  std::vector<std::vector<Opens>> opens_;        // by literal
  std::vector<std::vector<uint32_t>> required_;  // by rule
};

}  // namespace keysieve::detect
