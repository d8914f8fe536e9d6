// SPDX-License-Identifier: MIT
// Judges a parsed rule file: what cannot be meant is an error with its line, what is only odd is a
// warning. CheckFile() sees one file by itself, CheckMerged() a whole set once `extend` has been
// followed. Regexes are judged where they are compiled.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "daemon/detect/rule_file.h"

namespace keysieve::detect {

// The gitleaks release whose rule format this room emulates; a file that asks for a newer one loads
// with a warning.
inline constexpr int kEmulatedMajor = 8;
inline constexpr int kEmulatedMinor = 28;

// Checks one file and drops all but the last rule of each id, as gitleaks does, with a warning.
absl::Status CheckFile(RuleFile* file, std::vector<std::string>* warnings);

// Checks a set that `extend` has been merged into: every rule can match something, and the rules it
// requires exist.
absl::Status CheckMerged(const RuleFile& set, std::vector<std::string>* warnings);

// Of a checked allowlist: must all its checks hold (AND), or one of them (OR)?
bool MatchesAll(const AllowlistSpec& spec);

}  // namespace keysieve::detect
