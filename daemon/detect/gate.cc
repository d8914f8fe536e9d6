// SPDX-License-Identifier: MIT
// One literal a byte string and case, however many rules ask for it, as a keyword or for its
// windows.
#include "daemon/detect/gate.h"

#include <map>
#include <utility>

#include "evidence/base/status.h"

namespace keysieve::detect {
namespace {

constexpr uint8_t kNeedsKeyword = 1;
constexpr uint8_t kNeedsLiteral = 2;

}  // namespace

struct Gate::Builder {
  Gate gate;
  std::map<std::pair<std::string, bool>, uint32_t> known;  // bytes, any case -> position

  uint32_t LiteralFor(const megakernel::Literal& literal) {
    const auto [it, added] =
        known.emplace(std::pair(literal.bytes, literal.ignore_case), gate.literals_.size());
    if (added) {
      gate.literals_.push_back(literal);
      gate.opens_.emplace_back();
    }
    return it->second;
  }

  void Add(const RulePlan& plan, uint32_t rule) {
    uint8_t& needs = gate.needs_.emplace_back(0);
    std::vector<uint32_t>& required = gate.required_.emplace_back();
    for (const megakernel::Literal& literal : plan.literals) {
      needs |= kNeedsLiteral;
      required.push_back(LiteralFor(literal));
      gate.opens_[required.back()].push_back({rule, kNeedsLiteral});
    }
    for (const std::string& keyword : plan.keywords) {
      needs |= kNeedsKeyword;
      gate.opens_[LiteralFor({keyword, /*ignore_case=*/true})].push_back({rule, kNeedsKeyword});
    }
  }
};

absl::StatusOr<Gate> Gate::Build(std::span<const RulePlan> plans) {
  Builder builder;
  for (uint32_t i = 0; i < plans.size(); ++i) builder.Add(plans[i], i);
  if (builder.gate.literals_.size() > megakernel::kMaxLiterals) {
    return absl::InvalidArgumentError(
        Cat("rules: they need ", builder.gate.literals_.size(), " different literals, more than ",
            megakernel::kMaxLiterals, "; drop some rules or keywords"));
  }
  return std::move(builder.gate);
}

std::vector<uint8_t> Gate::Candidates(const HitIndex& hits) const {
  std::vector<uint8_t> missing = needs_;
  for (uint32_t literal = 0; literal < literals_.size(); ++literal) {
    if (!hits.Has(literal)) continue;
    for (const Opens& opens : opens_[literal]) {
      missing[opens.rule] &= static_cast<uint8_t>(~opens.need);
    }
  }
  for (uint8_t& rule : missing) rule = rule == 0;
  return missing;
}

}  // namespace keysieve::detect
