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

// Of a regex that sees characters nothing is known: its literals fold beyond ASCII.
std::optional<RequiredLiterals> RequiredOf(const Regex& regex,
                                           const std::vector<std::string>& keywords) {
  if (regex.utf8()) return std::nullopt;
  const std::optional<SyntaxNode> tree = ParseSyntax(regex.pattern());
  return tree ? FindRequired(*tree, keywords) : std::nullopt;
}

// Builds the gate and gives every rule its matcher.
absl::StatusOr<Gate> BuildGate(const RuleFile& set, std::vector<CompiledRule>* rules) {
  std::vector<std::optional<RequiredLiterals>> required(rules->size());
  std::vector<GatedRule> gated;
  for (size_t i = 0; i < rules->size(); ++i) {
    const Regex* regex = (*rules)[i].regex.get();
    GatedRule& rule = gated.emplace_back(
        GatedRule{&set.rules[i].keywords, regex, nullptr, Subject(set.rules[i])});
    if (regex == nullptr) continue;
    KS_ASSIGN_OR_RETURN(const std::vector<std::string> keywords, KeywordsOf(rule));
    required[i] = RequiredOf(*regex, keywords);
    if (required[i]) rule.required = &*required[i];
  }
  KS_ASSIGN_OR_RETURN(Gate gate, Gate::Build(gated));
  for (size_t i = 0; i < rules->size(); ++i) {
    CompiledRule& rule = (*rules)[i];
    if (rule.regex == nullptr) continue;
    rule.matcher = required[i] ? WindowMatcher(rule.regex.get(), *required[i], gate.required(i))
                               : WholeBlobMatcher(rule.regex.get());
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
