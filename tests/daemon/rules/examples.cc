// SPDX-License-Identifier: MIT
// Reads examples.toml with toml++ and expands its templates.
#include "tests/daemon/rules/examples.h"

#include <toml++/toml.h>

#include <stdexcept>

namespace keysieve::rules_testing {
namespace {

std::vector<std::string> Strings(const toml::table& table, const char* key) {
  std::vector<std::string> out;
  if (const toml::array* array = table[key].as_array()) {
    for (const toml::node& node : *array) out.push_back(node.value<std::string>().value());
  }
  return out;
}

}  // namespace

Expanded ExpandOrThrow(const std::string& pattern, const std::string& id, size_t index) {
  std::string error;
  std::optional<Expanded> out = Expand(pattern, Seed(id, index), &error);
  if (!out) throw std::runtime_error("examples.toml: rule " + id + ": " + error);
  return *out;
}

std::map<std::string, Examples> ReadExamples(const std::string& path) {
  std::map<std::string, Examples> out;
  const toml::table root = toml::parse_file(path);
  for (const toml::node& node : *root["rule"].as_array()) {
    const toml::table& table = *node.as_table();
    const std::string id = table["id"].value<std::string>().value();
    if (out.count(id) > 0) throw std::runtime_error("examples.toml: rule " + id + " stands twice");
    Examples& examples = out[id];
    size_t index = 0;
    for (const std::string& pattern : Strings(table, "match")) {
      examples.match.push_back(ExpandOrThrow(pattern, id, index++));
    }
    for (const std::string& pattern : Strings(table, "no_match")) {
      examples.no_match.push_back(ExpandOrThrow(pattern, id, index++).text);
    }
    for (const std::string& other : Strings(table, "also")) examples.also.insert(other);
  }
  return out;
}

std::string PathOf(const Rule& rule) {
  for (const char* path : {"main.tf", "secret.yaml", "config.php", "nuget.config", ".npmrc"}) {
    if (!rule.path || re2::RE2::PartialMatch(path, *rule.path)) return path;
  }
  return "none";
}

}  // namespace keysieve::rules_testing
