// SPDX-License-Identifier: MIT
// Follows `extend`: reads the file a rule file builds on, at most two files deep as gitleaks does,
// and lays the one over the other. What comes back is one checked set, still plain data.
//
// A rule the extended file has too is an override: its description, regex, path, secretGroup,
// entropy and skipReport replace the other's where they are given; tags, keywords, allowlists and
// required rules are added to it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "daemon/detect/rule_file.h"
#include "daemon/detect/rule_set.h"

namespace keysieve::detect {

inline constexpr int kMaxExtendDepth = 2;

// The bytes of a rule file, kMaxRuleFileBytes at most. NOT_FOUND, INVALID_ARGUMENT.
absl::StatusOr<std::string> ReadRuleFile(const std::string& path);

// Parses, checks and merges. `name` stands for the file in messages.
absl::StatusOr<RuleFile> ReadRuleSet(std::string_view toml, const std::string& name,
                                     const RuleOptions& options,
                                     std::vector<std::string>* warnings);

}  // namespace keysieve::detect
