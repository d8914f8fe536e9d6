// SPDX-License-Identifier: MIT
// Reads [[rules]] with toml++, which throws; the exceptions end here.
#include "tests/daemon/regex/cases.h"

#include <toml++/toml.h>

#include <cstdlib>

namespace keysieve::detect::regex {

std::vector<NamedRegex> LoadRegexes(const std::string& path) {
  std::vector<NamedRegex> regexes;
  try {
    const toml::table file = toml::parse_file(path);
    const toml::array* rules = file["rules"].as_array();
    if (rules == nullptr) return regexes;
    for (const toml::node& rule : *rules) {
      const toml::table& table = *rule.as_table();
      const auto pattern = table["regex"].value<std::string>();
      if (pattern) regexes.push_back({table["id"].value_or(std::string()), *pattern});
    }
  } catch (const toml::parse_error&) {
    regexes.clear();
  }
  return regexes;
}

std::string GitleaksPath() {
  const char* folder = std::getenv("KEYSIEVE_SHARED_CASES");
  return folder == nullptr ? std::string() : std::string(folder) + "/gitleaks.toml";
}

uint64_t EnvCount(const char* name, uint64_t fallback) {
  const char* value = std::getenv(name);
  return value == nullptr ? fallback : std::strtoull(value, nullptr, 10);
}

}  // namespace keysieve::detect::regex
