// SPDX-License-Identifier: MIT
// What `keysieved rules ...` answers, as text for a terminal. Errors come back as the status, in
// the words of the rule file's own checks. No answer holds a secret: what a test finds is redacted.
//
//   auto text = CheckRules("rules.toml", options);
//   std::fputs(text.ok() ? text->c_str() : ..., stdout);
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "daemon/detect/rule_set.h"

namespace keysieve::detect {

inline constexpr size_t kMaxTestFileBytes = 64u << 20;
inline constexpr uint32_t kDefaultDecodeDepth = 5;  // what an unchanged daemon does

// `rules check FILE`: warnings, how many rules go which way, and the digest.
absl::StatusOr<std::string> CheckRules(const std::string& rules_file, const RuleOptions& options);

// `rules list`: a line a rule, in the set's order: id, route, tags, description.
absl::StatusOr<std::string> ListRules(const std::string& rules_file, const RuleOptions& options);

// `rules explain ID`: everything the merged set says of one rule and how it will run. NOT_FOUND
// names the nearest ids.
absl::StatusOr<std::string> ExplainRule(const std::string& rules_file, const RuleOptions& options,
                                        const std::string& id);

// `rules test FILE`: what the rules find in a file and in what it decodes to, redacted.
absl::StatusOr<std::string> TestRules(const std::string& rules_file, const RuleOptions& options,
                                      const std::string& file);

}  // namespace keysieve::detect
