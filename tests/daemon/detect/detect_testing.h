// SPDX-License-Identifier: MIT
// What the detection tests share: the plainest literal matcher there is, synthetic tokens, and
// loading rules from text or failing the test.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/detect/rule_set.h"
#include "evidence/base/status.h"
#include "gtest/gtest.h"

namespace keysieve::detect {

inline std::string FoldAscii(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

// Every hit of every literal, overlapping ones too, sorted: one plain search after the other, which
// shares nothing with what it stands in for.
inline std::vector<megakernel::LiteralHit> NaiveHits(std::span<const megakernel::Literal> literals,
                                                     std::string_view text) {
  const std::string folded = FoldAscii(text);
  std::vector<megakernel::LiteralHit> hits;
  for (uint32_t p = 0; p < literals.size(); ++p) {
    const bool fold = literals[p].ignore_case;
    const std::string needle = fold ? FoldAscii(literals[p].bytes) : literals[p].bytes;
    const std::string_view haystack = fold ? std::string_view(folded) : text;
    for (size_t at = haystack.find(needle); at != std::string_view::npos;
         at = haystack.find(needle, at + 1)) {
      hits.push_back({at, at + needle.size(), p});
    }
  }
  std::sort(hits.begin(), hits.end());
  return hits;
}

inline std::vector<Finding> ScanText(const RuleSet& rules, std::string_view text,
                                     std::string_view path = "a.txt",
                                     std::string_view commit = "") {
  return rules.Scan({path, text, commit}, NaiveHits(rules.literals(), text));
}

inline std::shared_ptr<const RuleSet> Load(const std::string& toml, RuleOptions options = {}) {
  auto rules = RuleSet::LoadText(toml, "test.toml", options);
  EXPECT_TRUE(rules.ok()) << Message(rules.status());
  return rules.ok() ? *rules : nullptr;
}

// "" if the text loads.
inline std::string LoadError(const std::string& toml, RuleOptions options = {}) {
  auto rules = RuleSet::LoadText(toml, "test.toml", options);
  return rules.ok() ? "" : Message(rules.status());
}

// A well-formed synthetic GitHub token, another for each `seed`.
inline std::string Pat(uint64_t seed) {
  constexpr char kAlphabet[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
  std::string pat = std::string("gh") + "p_";
  uint64_t state = seed * 0x9E3779B97F4A7C15ull + 0x1234567;
  for (int i = 0; i < 36; ++i) {
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    pat += kAlphabet[(state * 0x2545F4914F6CDD1Dull >> 33) % 62];
  }
  return pat;
}

inline constexpr char kPatRule[] = R"(
[[rules]]
id = "github-pat"
description = "a GitHub token"
regex = '''ghp_[0-9a-zA-Z]{36}'''
entropy = 3
keywords = ["ghp_"]
)";

inline std::string RuleId(const RuleSet& rules, const Finding& finding) {
  return rules.rules()[finding.rule].id;
}

inline std::vector<std::string> RuleIds(const RuleSet& rules, const std::vector<Finding>& found) {
  std::vector<std::string> ids;
  for (const Finding& finding : found) ids.push_back(RuleId(rules, finding));
  return ids;
}

inline std::string ReadAll(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream out;
  out << in.rdbuf();
  return out.str();
}

// The folder of handed cases, or "" with a reason printed by the caller's skip.
inline std::string SharedCases() {
  const char* folder = std::getenv("KEYSIEVE_SHARED_CASES");
  return folder == nullptr ? "" : folder;
}

#define KS_NEED_SHARED_CASES(variable)                                              \
  const std::string variable = SharedCases();                                       \
  if (variable.empty()) {                                                           \
    GTEST_SKIP() << "KEYSIEVE_SHARED_CASES is unset: no handed cases to test with"; \
  }

}  // namespace keysieve::detect
