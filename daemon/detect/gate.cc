// SPDX-License-Identifier: MIT
// Required literals come from RE2's own prefilter, which asks for lower-case atoms in lower-cased
// text: exactly what literals that ignore ASCII case find, as long as a regex sees bytes. One in
// UTF-8 also folds letters outside ASCII, so it gets no literals.
#include "daemon/detect/gate.h"

#include <algorithm>
#include <map>

#include "evidence/base/status.h"
#include "re2/filtered_re2.h"

namespace keysieve::detect {
namespace {

constexpr int kMinAtomBytes = 3;  // shorter ones are in every file

std::string LowerText(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c | 0x20);
  }
  return text;
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

  // True if the rule has keywords to go by.
  absl::StatusOr<bool> AddKeywords(const GatedRule& rule, uint32_t position) {
    bool any = false;
    for (const Text& keyword : *rule.keywords) {
      if (keyword.value.empty()) continue;
      if (keyword.value.size() > megakernel::kMaxLiteralBytes) {
        return RuleError(keyword.where, rule.subject, "keywords",
                         Cat("one has ", keyword.value.size(), " bytes, more than ",
                             megakernel::kMaxLiteralBytes, "; shorten it"));
      }
      auto& rules = gate.rules_of_literal_[LiteralFor(LowerText(keyword.value))];
      if (rules.empty() || rules.back() != position) rules.push_back(position);
      any = true;
    }
    return any;
  }

  void AddToFilter(const Regex& regex, uint32_t position) {
    if (gate.filter_ == nullptr) {
      gate.filter_ = std::make_unique<re2::FilteredRE2>(kMinAtomBytes);
    }
    re2::RE2::Options options(re2::RE2::Quiet);
    options.Copy(regex.re2().options());
    int id = 0;
    if (gate.filter_->Add(regex.pattern(), options, &id) != re2::RE2::NoError) return;
    gate.filter_rules_.push_back(position);
  }

  void FinishFilter() {
    if (gate.filter_ == nullptr || gate.filter_rules_.empty()) {
      gate.filter_.reset();
      return;
    }
    std::vector<std::string> atoms;
    gate.filter_->Compile(&atoms);
    for (const std::string& atom : atoms) {
      // A longer one is found by its beginning.
      gate.atom_literals_.push_back(LiteralFor(atom.substr(0, megakernel::kMaxLiteralBytes)));
    }
    // What passes with no atom at all has none to go by.
    std::vector<int> passed;
    gate.filter_->AllPotentials({}, &passed);
    for (uint32_t rule : gate.filter_rules_) gate.routes_[rule] = Route::kLiterals;
    for (int id : passed) gate.routes_[gate.filter_rules_[id]] = Route::kWholeBlob;
  }
};

Gate::Gate() = default;
Gate::Gate(Gate&&) noexcept = default;
Gate& Gate::operator=(Gate&&) noexcept = default;
Gate::~Gate() = default;

absl::StatusOr<Gate> Gate::Build(std::span<const GatedRule> rules) {
  Builder builder;
  for (uint32_t i = 0; i < rules.size(); ++i) {
    Route& route = builder.gate.routes_.emplace_back(Route::kPath);
    if (rules[i].regex == nullptr) continue;
    KS_ASSIGN_OR_RETURN(const bool keywords, builder.AddKeywords(rules[i], i));
    route = keywords ? Route::kKeywords : Route::kWholeBlob;
    if (!keywords && !rules[i].regex->utf8()) builder.AddToFilter(*rules[i].regex, i);
  }
  builder.FinishFilter();
  if (builder.gate.literals_.size() > megakernel::kMaxLiterals) {
    return absl::InvalidArgumentError(
        Cat("rules: they have ", builder.gate.literals_.size(), " different keywords, more than ",
            megakernel::kMaxLiterals, "; drop some rules or keywords"));
  }
  return std::move(builder.gate);
}

std::vector<uint8_t> Gate::Candidates(std::span<const megakernel::LiteralHit> hits) const {
  std::vector<uint8_t> wanted(routes_.size(), 0);
  std::vector<uint8_t> seen(literals_.size(), 0);
  for (const megakernel::LiteralHit& hit : hits) {
    if (hit.pattern >= seen.size() || seen[hit.pattern] != 0) continue;
    seen[hit.pattern] = 1;
    for (uint32_t rule : rules_of_literal_[hit.pattern]) wanted[rule] = 1;
  }
  for (size_t i = 0; i < routes_.size(); ++i) {
    if (routes_[i] == Route::kWholeBlob || routes_[i] == Route::kPath) wanted[i] = 1;
  }
  if (filter_ != nullptr) MarkLiteralRules(seen, &wanted);
  return wanted;
}

void Gate::MarkLiteralRules(const std::vector<uint8_t>& seen, std::vector<uint8_t>* wanted) const {
  std::vector<int> atoms;
  for (size_t atom = 0; atom < atom_literals_.size(); ++atom) {
    if (seen[atom_literals_[atom]] != 0) atoms.push_back(static_cast<int>(atom));
  }
  std::vector<int> passed;
  filter_->AllPotentials(atoms, &passed);
  for (int id : passed) (*wanted)[filter_rules_[id]] = 1;
}

}  // namespace keysieve::detect
