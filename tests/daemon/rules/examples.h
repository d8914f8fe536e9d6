// SPDX-License-Identifier: MIT
// The examples of examples.toml, expanded: for each rule texts it finds, with the secret marked,
// and texts it leaves alone.
//
//   for (const auto& [id, examples] : ReadExamples(KEYSIEVE_RULE_EXAMPLES)) ...
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/daemon/rules/rule_file.h"
#include "tests/daemon/rules/template.h"

namespace keysieve::rules_testing {

struct Examples {
  std::vector<Expanded> match;        // texts, or paths for a rule that has only a path
  std::vector<std::string> no_match;  // likewise
  std::set<std::string> also;         // other specific rules that may find something in `match`
};

// By rule id. Throws std::runtime_error naming the rule and what is wrong.
std::map<std::string, Examples> ReadExamples(const std::string& path);

Expanded ExpandOrThrow(const std::string& pattern, const std::string& id, size_t index);

// A path that the rule's own path regex takes, for rules that look at text too.
std::string PathOf(const Rule& rule);

}  // namespace keysieve::rules_testing
