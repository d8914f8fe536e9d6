// SPDX-License-Identifier: MIT
// One literal a byte string, however many rules ask for it, as a keyword or for its windows. All
// ignore ASCII case: keywords do, and a required literal that is found too often costs a search, no
// answer.
#include "daemon/detect/gate.h"

#include <algorithm>
#include <map>
#include <utility>

#include "daemon/detect/ascii.h"
#include "evidence/base/status.h"

namespace keysieve::detect {
namespace {

// Does every required literal hold a keyword? Then a match brings a keyword along, and the gate may
// wait for the literals themselves, which are rarer.
bool ImpliesKeyword(const std::vector<std::string>& required,
                    const std::vector<std::string>& keywords) {
  return !required.empty() && std::all_of(required.begin(), required.end(), [&](auto& literal) {
    return std::any_of(keywords.begin(), keywords.end(),
                       [&](auto& keyword) { return literal.find(keyword) != std::string::npos; });
  });
}

}  // namespace

struct Gate::Builder {
  Gate gate;
  std::map<std::string, uint32_t> known;  // literal bytes -> its position

  uint32_t LiteralFor(const std::string& bytes) {
    const auto [it, added] = known.emplace(bytes, gate.literals_.size());
    if (added) {
      gate.literals_.push_back({bytes, /*ignore_case=*/true});
      gate.rules_of_literal_.emplace_back();
    }
    return it->second;
  }

  void Open(uint32_t literal, uint32_t rule) {
    auto& rules = gate.rules_of_literal_[literal];
    if (rules.empty() || rules.back() != rule) rules.push_back(rule);
  }

  absl::Status Add(const GatedRule& rule, uint32_t position) {
    Route& route = gate.routes_.emplace_back(Route::kPath);
    std::vector<uint32_t>& required = gate.required_.emplace_back();
    if (rule.regex == nullptr) return absl::OkStatus();
    KS_ASSIGN_OR_RETURN(const std::vector<std::string> keywords, KeywordsOf(rule));
    std::vector<std::string> needed;
    if (rule.required != nullptr) needed = rule.required->literals;
    for (const std::string& literal : needed) required.push_back(LiteralFor(literal));
    if (keywords.empty() || ImpliesKeyword(needed, keywords)) {
      route = needed.empty() ? Route::kWholeBlob : Route::kLiterals;
      for (uint32_t literal : required) Open(literal, position);
    } else {
      route = Route::kKeywords;
      for (const std::string& keyword : keywords) Open(LiteralFor(keyword), position);
    }
    return absl::OkStatus();
  }
};

absl::StatusOr<std::vector<std::string>> KeywordsOf(const GatedRule& rule) {
  std::vector<std::string> keywords;
  for (const Text& keyword : *rule.keywords) {
    if (keyword.value.empty()) continue;
    if (keyword.value.size() > megakernel::kMaxLiteralBytes) {
      return RuleError(keyword.where, rule.subject, "keywords",
                       Cat("one has ", keyword.value.size(), " bytes, more than ",
                           megakernel::kMaxLiteralBytes, "; shorten it"));
    }
    keywords.push_back(LowerAscii(keyword.value));
  }
  return keywords;
}

absl::StatusOr<Gate> Gate::Build(std::span<const GatedRule> rules) {
  Builder builder;
  for (uint32_t i = 0; i < rules.size(); ++i) KS_RETURN_IF_ERROR(builder.Add(rules[i], i));
  if (builder.gate.literals_.size() > megakernel::kMaxLiterals) {
    return absl::InvalidArgumentError(
        Cat("rules: they need ", builder.gate.literals_.size(), " different literals, more than ",
            megakernel::kMaxLiterals, "; drop some rules or keywords"));
  }
  return std::move(builder.gate);
}

std::vector<uint8_t> Gate::Candidates(const HitIndex& hits) const {
  std::vector<uint8_t> wanted(routes_.size(), 0);
  for (size_t i = 0; i < routes_.size(); ++i) {
    wanted[i] = routes_[i] == Route::kWholeBlob || routes_[i] == Route::kPath;
  }
  for (uint32_t literal = 0; literal < literals_.size(); ++literal) {
    if (!hits.Has(literal)) continue;
    for (uint32_t rule : rules_of_literal_[literal]) wanted[rule] = 1;
  }
  return wanted;
}

}  // namespace keysieve::detect
