// SPDX-License-Identifier: MIT
// A plain reading of a rule file for tests: TOML in, RE2 regexes out, and a scan of one text that
// does what gitleaks' format promises in the simplest way there is. It shares no code with the
// daemon, so it can judge the daemon's rules.
//
//   RuleFile file = ReadRuleFile(KEYSIEVE_DEFAULT_RULES);
//   for (const Found& f : FindAll(file, file.rules[0], "", text)) ...
#pragma once

#include <re2/re2.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace keysieve::rules_testing {

struct Allowlist {
  std::vector<std::unique_ptr<re2::RE2>> regexes;  // looked for in the secret
  std::vector<std::string> stopwords;              // lower case, looked for in the secret
};

struct Rule {
  std::string id;
  std::string description;
  std::string source;  // the URL in the comment above the rule; empty if there is none
  std::string regex_text;
  std::unique_ptr<re2::RE2> regex;  // null when the rule has only a path
  std::unique_ptr<re2::RE2> path;   // null when the rule applies everywhere
  int secret_group = 0;
  double entropy = 0;  // bits per byte; a secret at or below it does not count
  std::vector<std::string> keywords;
  std::vector<std::string> tags;
  std::vector<Allowlist> allowlists;

  bool HasTag(std::string_view tag) const;
};

struct RuleFile {
  std::vector<Rule> rules;
  std::vector<Allowlist> allowlists;
  std::vector<std::unique_ptr<re2::RE2>> excluded_paths;

  const Rule* Find(std::string_view id) const;
};

struct Found {
  std::string match;
  std::string secret;
  size_t secret_start = 0;  // bytes from the text's first
};

// How every regex here is compiled: Latin-1, silent, and refused above 1 MiB.
re2::RE2::Options RegexOptions();

// Throws std::runtime_error naming the file and what is wrong with it.
RuleFile ReadRuleFile(const std::string& path);
std::string ReadFile(const std::string& path);

std::string ToLower(std::string_view text);
double Entropy(std::string_view text);  // Shannon, bits per byte
bool HasKeyword(const Rule& rule, std::string_view lower_text);

// What `rule` finds in `text`, in order: keyword gate, regex, entropy, allowlists. A rule that has
// only a path finds an empty match in a file of that path.
std::vector<Found> FindAll(const RuleFile& file, const Rule& rule, std::string_view path,
                           std::string_view text);

}  // namespace keysieve::rules_testing
