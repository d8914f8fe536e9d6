// SPDX-License-Identifier: MIT
// From checked text to regexes, allowlists and the gate. Regex errors surface here, with the line
// the regex stands on.
#include "daemon/detect/compiled_rules.h"

#include <unordered_map>
#include <utility>

#include "daemon/detect/ascii.h"
#include "evidence/base/status.h"

namespace keysieve::detect {
namespace {

absl::StatusOr<std::unique_ptr<const Regex>> CompileField(const std::optional<Text>& text,
                                                          const std::string& subject,
                                                          const std::string& field) {
  if (!text) return std::unique_ptr<const Regex>();
  auto regex = Regex::Compile(text->value);
  if (!regex.ok()) return RuleError(text->where, subject, field, Message(regex.status()));
  return std::make_unique<const Regex>(*std::move(regex));
}

// gitleaks goes by the id: a rule so named catches what no other rule knows.
bool IsGeneric(const std::string& id) {
  return LowerAscii(id).find("generic") != std::string::npos;
}

void WarnOfRegex(const RuleSpec& spec, const Regex& regex, std::vector<std::string>* warnings) {
  if (regex.utf8()) {
    warnings->push_back(
        RuleWarning(spec.regex->where, Subject(spec), "regex",
                    "names characters outside ASCII: it sees UTF-8 characters, not bytes, and "
                    "passes over what is no UTF-8"));
  }
  if (regex.Matches("")) {
    warnings->push_back(RuleWarning(spec.regex->where, Subject(spec), "regex",
                                    "can match nothing at all; such empty matches are ignored"));
  }
}

absl::StatusOr<CompiledRule> CompileRule(const RuleSpec& spec, std::vector<std::string>* warnings) {
  const std::string subject = Subject(spec);
  CompiledRule rule;
  rule.id = spec.id.value;
  KS_ASSIGN_OR_RETURN(rule.regex, CompileField(spec.regex, subject, "regex"));
  KS_ASSIGN_OR_RETURN(rule.path, CompileField(spec.path, subject, "path"));
  if (rule.regex != nullptr) {
    WarnOfRegex(spec, *rule.regex, warnings);
  }
  if (spec.secret_group) {
    const int64_t group = spec.secret_group->value;
    if (rule.regex != nullptr && group > rule.regex->groups()) {
      return RuleError(spec.secret_group->where, subject, "secretGroup",
                       Cat(group, " is more than the ", rule.regex->groups(),
                           " groups of the regex; name one of those"));
    }
    rule.secret_group = static_cast<int>(group);
  }
  if (spec.checksum) {
    const auto checksum = ChecksumOfName(spec.checksum->value);
    if (!checksum) {
      return RuleError(
          spec.checksum->where, subject, "checksum",
          Cat("\"", spec.checksum->value, "\" is not known; write crc32-base62 or bech32"));
    }
    rule.checksum = *checksum;
  }
  rule.entropy = spec.entropy ? spec.entropy->value : 0;
  rule.skip_report = spec.skip_report && spec.skip_report->value;
  rule.generic = IsGeneric(rule.id);
  for (const AllowlistSpec& list : spec.allowlists) {
    KS_ASSIGN_OR_RETURN(Allowlist compiled, Allowlist::Compile(list, subject));
    rule.allowlists.push_back(std::move(compiled));
  }
  return rule;
}

int64_t InstructionsOf(const CompiledRule& rule) {
  int64_t sum = rule.regex != nullptr ? rule.regex->instructions() : 0;
  sum += rule.path != nullptr ? rule.path->instructions() : 0;
  for (const Allowlist& list : rule.allowlists) sum += list.instructions();
  return sum;
}

void LinkRequired(const RuleFile& set, std::vector<CompiledRule>* rules) {
  std::unordered_map<std::string, uint32_t> index;
  for (uint32_t i = 0; i < set.rules.size(); ++i) index.emplace(set.rules[i].id.value, i);
  for (size_t i = 0; i < set.rules.size(); ++i) {
    for (const RequiredSpec& spec : set.rules[i].required) {
      RequiredRule& required = (*rules)[i].required.emplace_back();
      required.rule = index.at(spec.id.value);
      if (spec.within_lines) required.within_lines = spec.within_lines->value;
      if (spec.within_columns) required.within_columns = spec.within_columns->value;
    }
  }
}

// The keywords that count, lower case. INVALID_ARGUMENT if one is too long for a literal.
absl::StatusOr<std::vector<std::string>> KeywordsOf(const RuleSpec& spec) {
  std::vector<std::string> keywords;
  for (const Text& keyword : spec.keywords) {
    if (keyword.value.empty()) continue;
    if (keyword.value.size() > megakernel::kMaxLiteralBytes) {
      return RuleError(keyword.where, Subject(spec), "keywords",
                       Cat("one has ", keyword.value.size(), " bytes, more than ",
                           megakernel::kMaxLiteralBytes, "; shorten it"));
    }
    keywords.push_back(LowerAscii(keyword.value));
  }
  return keywords;
}

// Plans every rule, builds the gate and gives every rule its matcher.
absl::StatusOr<Gate> BuildGate(const RuleFile& set, std::vector<CompiledRule>* rules) {
  const regex::Profile profile = regex::Profile::Default();
  std::vector<PlannedRule> planned(rules->size());
  std::vector<RulePlan> plans(rules->size());
  for (size_t i = 0; i < rules->size(); ++i) {
    const Regex* regex = (*rules)[i].regex.get();
    if (regex == nullptr) continue;
    KS_ASSIGN_OR_RETURN(const std::vector<std::string> keywords, KeywordsOf(set.rules[i]));
    planned[i] = PlanRule(*regex, keywords, profile);
    plans[i] = planned[i].plan;
  }
  KS_ASSIGN_OR_RETURN(Gate gate, Gate::Build(plans));
  for (size_t i = 0; i < rules->size(); ++i) {
    CompiledRule& rule = (*rules)[i];
    rule.plan = std::move(plans[i]);
    if (rule.regex == nullptr) continue;
    rule.matcher = std::make_unique<RuleMatcher>(*rule.regex, planned[i], gate.required(i));
  }
  return gate;
}

}  // namespace

absl::StatusOr<CompiledRules> CompileRules(const RuleFile& set, const FingerprintKeys& keys,
                                           std::vector<std::string>* warnings) {
  std::vector<CompiledRule> rules;
  rules.reserve(set.rules.size());
  int64_t instructions = 0;
  for (const RuleSpec& spec : set.rules) {
    KS_ASSIGN_OR_RETURN(CompiledRule rule, CompileRule(spec, warnings));
    instructions += InstructionsOf(rule);
    if (instructions > kMaxSetInstructions) {
      return RuleError(
          spec.where, Subject(spec), "regex",
          Cat("with it the set's regexes come to ", instructions, " instructions, more than ",
              kMaxSetInstructions, "; use smaller repeat counts or fewer rules"));
    }
    rules.push_back(std::move(rule));
  }
  LinkRequired(set, &rules);
  std::vector<Allowlist> allowlists;
  for (const AllowlistSpec& list : set.allowlists) {
    KS_ASSIGN_OR_RETURN(Allowlist compiled, Allowlist::Compile(list, ""));
    allowlists.push_back(std::move(compiled));
  }
  KS_ASSIGN_OR_RETURN(Gate gate, BuildGate(set, &rules));
  return CompiledRules{std::move(rules), std::move(allowlists), std::move(gate),
                       Fingerprinter(keys)};
}

}  // namespace keysieve::detect
