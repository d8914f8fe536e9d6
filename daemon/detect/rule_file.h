// SPDX-License-Identifier: MIT
// A rule file as plain data: what gitleaks' TOML says, each value with the file and line it came
// from, nothing judged yet beyond its type. Checking is rule_check.h's work, following `extend`
// rule_merge.h's, compiling rule_set.cc's.
//
//   std::vector<std::string> warnings;
//   auto file = ParseRuleFile(toml, "rules.toml", &warnings);
//   for (const RuleSpec& rule : file->rules) Use(rule.id.value, rule.id.where.line);
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace keysieve::detect {

inline constexpr size_t kMaxRuleFileBytes = 16u << 20;
inline constexpr size_t kMaxRules = 10000;  // in one set
inline constexpr size_t kMaxRuleIdBytes = 256;

// A place in a rule file. Lines count from 1; 0 means the file as a whole.
struct Where {
  std::shared_ptr<const std::string> file;
  uint32_t line = 0;
};

// "<file>:<line>".
std::string ToString(const Where& where);

template <typename T>
struct Located {
  T value{};
  Where where;
};

using Text = Located<std::string>;

// [[allowlists]], [allowlist], [[rules.allowlists]] and [rules.allowlist] alike.
struct AllowlistSpec {
  Where where;
  std::string section;  // as the file names it, for messages
  std::string description;
  std::optional<Text> condition;
  std::optional<Text> regex_target;
  std::vector<Text> commits;
  std::vector<Text> paths;
  std::vector<Text> regexes;
  std::vector<Text> stopwords;
  std::vector<Text> target_rules;  // global allowlists only
};

// One [[rules.required]]: a rule that must also be found, near enough.
struct RequiredSpec {
  Where where;
  Text id;
  std::optional<Located<int64_t>> within_lines;
  std::optional<Located<int64_t>> within_columns;
};

struct RuleSpec {
  Where where;
  Text id;
  std::optional<Text> description;
  std::optional<Text> regex;
  std::optional<Text> path;
  std::optional<Located<int64_t>> secret_group;
  std::optional<Located<double>> entropy;
  std::vector<Text> keywords;
  std::vector<Text> tags;
  std::optional<Located<bool>> skip_report;
  std::optional<Text> checksum;  // ours alone: the name of what the secret ends in
  std::vector<AllowlistSpec> allowlists;
  bool old_allowlist = false;  // [rules.allowlist] was used
  std::vector<RequiredSpec> required;
};

struct ExtendSpec {
  Where where;
  std::optional<Text> path;
  std::optional<Text> url;
  std::optional<Located<bool>> use_default;
  std::vector<Text> disabled_rules;
};

struct RuleFile {
  std::shared_ptr<const std::string> name;
  std::string title;
  std::string description;
  std::optional<Text> min_version;
  std::optional<ExtendSpec> extend;
  std::vector<RuleSpec> rules;
  std::vector<AllowlistSpec> allowlists;
  bool old_allowlist = false;  // [allowlist] was used
};

// Reads TOML. Keys match without regard to case, as gitleaks reads them. Unknown keys are added to
// `warnings`. INVALID_ARGUMENT for what is no TOML or a value of the wrong type.
absl::StatusOr<RuleFile> ParseRuleFile(std::string_view toml, const std::string& name,
                                       std::vector<std::string>* warnings);

// INVALID_ARGUMENT "<file>:<line>: <subject>: <field>: <what>"; an empty subject is left out.
absl::Status RuleError(const Where& where, const std::string& subject, const std::string& field,
                       const std::string& what);

// The same shape, for a warning.
std::string RuleWarning(const Where& where, const std::string& subject, const std::string& field,
                        const std::string& what);

// "rule <id>", what messages call a rule.
std::string Subject(const RuleSpec& rule);

}  // namespace keysieve::detect
