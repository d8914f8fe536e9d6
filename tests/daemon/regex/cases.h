// SPDX-License-Identifier: MIT
// The handed rule file's regexes, for tests that want real ones, and the knobs of the long modes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace keysieve::detect::regex {

struct NamedRegex {
  std::string id;
  std::string pattern;
};

// The [[rules]] of a gitleaks file that have a regex, in order. Empty if the file cannot be read.
std::vector<NamedRegex> LoadRegexes(const std::string& path);

// $KEYSIEVE_SHARED_CASES/gitleaks.toml, or an empty string if the variable is unset.
std::string GitleaksPath();

// A whole number from the environment, or `fallback`.
uint64_t EnvCount(const char* name, uint64_t fallback);

}  // namespace keysieve::detect::regex
