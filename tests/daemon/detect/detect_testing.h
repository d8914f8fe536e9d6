// SPDX-License-Identifier: MIT
// What the detection tests share: the plainest literal matcher there is, synthetic tokens, and
// loading rules from text or failing the test.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/detect/rule_set.h"
#include "evidence/base/status.h"
#include "gtest/gtest.h"

namespace keysieve::detect {

// Every hit of every literal, overlapping ones too, sorted. Tries each literal at each byte, so it
// shares nothing with what it stands in for.
inline std::vector<megakernel::LiteralHit> NaiveHits(std::span<const megakernel::Literal> literals,
                                                     std::string_view text) {
  const auto fold = [](char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; };
  std::vector<megakernel::LiteralHit> hits;
  for (size_t at = 0; at < text.size(); ++at) {
    for (uint32_t p = 0; p < literals.size(); ++p) {
      const std::string& bytes = literals[p].bytes;
      size_t i = 0;
      while (i < bytes.size() && at + i < text.size() &&
             (text[at + i] == bytes[i] ||
              (literals[p].ignore_case && fold(text[at + i]) == fold(bytes[i])))) {
        ++i;
      }
      if (i == bytes.size()) hits.push_back({at, at + i, p});
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
