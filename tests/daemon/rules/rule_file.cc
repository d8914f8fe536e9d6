// SPDX-License-Identifier: MIT
// Reads a rule file with toml++ and scans with RE2, the slow and obvious way.
#include "tests/daemon/rules/rule_file.h"

#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>

namespace keysieve::rules_testing {
namespace {

std::unique_ptr<re2::RE2> Compile(const std::string& regex, const std::string& where) {
  auto compiled = std::make_unique<re2::RE2>(regex, RegexOptions());
  if (!compiled->ok()) throw std::runtime_error(where + ": " + compiled->error());
  return compiled;
}

std::vector<std::string> Strings(const toml::table& table, const char* key) {
  std::vector<std::string> out;
  if (const toml::array* array = table[key].as_array()) {
    for (const toml::node& node : *array) out.push_back(node.value<std::string>().value());
  }
  return out;
}

Allowlist ReadAllowlist(const toml::table& table, const std::string& where) {
  Allowlist out;
  for (const auto& [key, value] : table) {
    const std::string_view name = key.str();
    if (name != "regexes" && name != "stopwords" && name != "description" && name != "paths") {
      throw std::runtime_error(where +
                               ": allowlist field this reader does not know: " + std::string(name));
    }
  }
  for (const std::string& regex : Strings(table, "regexes")) {
    out.regexes.push_back(Compile(regex, where + ": allowlist"));
  }
  for (const std::string& word : Strings(table, "stopwords"))
    out.stopwords.push_back(ToLower(word));
  return out;
}

Rule ReadRule(const toml::table& table) {
  Rule out;
  out.id = table["id"].value_or(std::string());
  out.description = table["description"].value_or(std::string());
  out.regex_text = table["regex"].value_or(std::string());
  if (!out.regex_text.empty()) out.regex = Compile(out.regex_text, out.id + ": regex");
  const std::string path = table["path"].value_or(std::string());
  if (!path.empty()) out.path = Compile(path, out.id + ": path");
  out.secret_group = static_cast<int>(table["secretGroup"].value_or(int64_t{0}));
  out.entropy = table["entropy"].value_or(0.0);
  out.keywords = Strings(table, "keywords");
  out.tags = Strings(table, "tags");
  if (const toml::array* lists = table["allowlists"].as_array()) {
    for (const toml::node& list : *lists) {
      out.allowlists.push_back(ReadAllowlist(*list.as_table(), out.id));
    }
  }
  return out;
}

// The URL of the "# source:" line in the comment block right above each [[rules]] line, in order.
std::vector<std::string> ReadSources(const std::string& text) {
  constexpr std::string_view kMark = "# source: ";
  std::vector<std::string> out;
  std::istringstream lines(text);
  std::string source;
  for (std::string line; std::getline(lines, line);) {
    if (line == "[[rules]]") {
      out.push_back(source);
      source.clear();
    } else if (line.rfind(kMark, 0) == 0) {
      source = line.substr(kMark.size());
    } else if (line.rfind('#', 0) != 0) {
      source.clear();
    }
  }
  return out;
}

bool Allowed(const std::vector<Allowlist>& lists, const std::string& secret) {
  const std::string lower = ToLower(secret);
  for (const Allowlist& list : lists) {
    for (const auto& regex : list.regexes) {
      if (re2::RE2::PartialMatch(secret, *regex)) return true;
    }
    for (const std::string& word : list.stopwords) {
      if (lower.find(word) != std::string::npos) return true;
    }
  }
  return false;
}

// The secret's group: the one the rule names, else the first that took part, else the whole match.
size_t SecretGroup(const Rule& rule, const std::vector<re2::StringPiece>& groups) {
  if (rule.secret_group > 0) return static_cast<size_t>(rule.secret_group);
  for (size_t i = 1; i < groups.size(); ++i) {
    if (!groups[i].empty()) return i;
  }
  return 0;
}

}  // namespace

bool Rule::HasTag(std::string_view tag) const {
  return std::find(tags.begin(), tags.end(), tag) != tags.end();
}

const Rule* RuleFile::Find(std::string_view id) const {
  for (const Rule& rule : rules) {
    if (rule.id == id) return &rule;
  }
  return nullptr;
}

re2::RE2::Options RegexOptions() {
  re2::RE2::Options options;
  options.set_encoding(re2::RE2::Options::EncodingLatin1);
  options.set_log_errors(false);
  options.set_max_mem(1 << 20);
  return options;
}

std::string ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error(path + ": cannot be opened");
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

RuleFile ReadRuleFile(const std::string& path) {
  const std::string text = ReadFile(path);
  const toml::table root = toml::parse(text, path);
  RuleFile out;
  if (const toml::array* rules = root["rules"].as_array()) {
    for (const toml::node& rule : *rules) out.rules.push_back(ReadRule(*rule.as_table()));
  }
  if (const toml::array* lists = root["allowlists"].as_array()) {
    for (const toml::node& list : *lists) {
      out.allowlists.push_back(ReadAllowlist(*list.as_table(), path));
      for (const std::string& regex : Strings(*list.as_table(), "paths")) {
        out.excluded_paths.push_back(Compile(regex, path + ": allowlist path"));
      }
    }
  }
  const std::vector<std::string> sources = ReadSources(text);
  if (sources.size() != out.rules.size()) {
    throw std::runtime_error(path + ": a [[rules]] line is not alone on its line");
  }
  for (size_t i = 0; i < sources.size(); ++i) out.rules[i].source = sources[i];
  return out;
}

std::string ToLower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

double Entropy(std::string_view text) {
  std::map<char, size_t> counts;
  for (const char c : text) ++counts[c];
  double bits = 0;
  for (const auto& [c, count] : counts) {
    const double p = static_cast<double>(count) / static_cast<double>(text.size());
    bits -= p * std::log2(p);
  }
  return bits;
}

bool HasKeyword(const Rule& rule, std::string_view lower_text) {
  if (rule.keywords.empty()) return true;
  return std::any_of(rule.keywords.begin(), rule.keywords.end(), [&](const std::string& keyword) {
    return lower_text.find(ToLower(keyword)) != std::string_view::npos;
  });
}

std::vector<Found> FindAll(const RuleFile& file, const Rule& rule, std::string_view path,
                           std::string_view text) {
  std::vector<Found> out;
  const re2::StringPiece path_piece(path.data(), path.size());
  if (rule.path && !re2::RE2::PartialMatch(path_piece, *rule.path)) return out;
  if (!rule.regex) return {Found{}};
  if (!HasKeyword(rule, ToLower(text))) return out;
  std::vector<re2::StringPiece> groups(static_cast<size_t>(rule.regex->NumberOfCapturingGroups()) +
                                       1);
  const re2::StringPiece whole(text.data(), text.size());
  size_t start = 0;
  while (start <= text.size() &&
         rule.regex->Match(whole, start, text.size(), re2::RE2::UNANCHORED, groups.data(),
                           static_cast<int>(groups.size()))) {
    const size_t end = static_cast<size_t>(groups[0].data() - text.data()) + groups[0].size();
    start = groups[0].empty() ? end + 1 : end;
    const re2::StringPiece& piece = groups[SecretGroup(rule, groups)];
    Found found{std::string(groups[0]), std::string(piece), 0};
    if (piece.data() != nullptr)
      found.secret_start = static_cast<size_t>(piece.data() - text.data());
    if (rule.entropy > 0 && Entropy(found.secret) <= rule.entropy) continue;
    if (Allowed(rule.allowlists, found.secret) || Allowed(file.allowlists, found.secret)) continue;
    out.push_back(std::move(found));
  }
  return out;
}

}  // namespace keysieve::rules_testing
