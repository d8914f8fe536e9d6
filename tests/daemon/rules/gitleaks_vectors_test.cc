// SPDX-License-Identifier: MIT
// Our rules against gitleaks' own test vectors, for the credentials both know. The vectors are data
// of another project and may be absent: KEYSIEVE_SHARED_CASES names the folder that has them.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/daemon/rules/rule_file.h"

namespace keysieve::rules_testing {
namespace {

struct Score {
  size_t wanted = 0;
  size_t found = 0;
  std::string first_lost;  // the first vector we did not find
  size_t unwanted = 0;
  size_t fired = 0;
};

// Why we find less of a rule's vectors than gitleaks does, on purpose.
const std::map<std::string, std::string>& Reasons() {
  static const auto* const kReasons = new std::map<std::string, std::string>{};
  return *kReasons;
}

constexpr double kExpected = 0.90;  // below it an id is printed with its reason
constexpr double kFloor = 0.70;     // below it the test fails

std::map<std::string, Score> ScoreVectors(const RuleFile& file, std::istream& vectors) {
  std::map<std::string, Score> out;
  for (std::string line; std::getline(vectors, line);) {
    const nlohmann::json vector = nlohmann::json::parse(line);
    const std::string id = vector.at("rule");
    const Rule* rule = file.Find(id);
    if (rule == nullptr) continue;
    const std::string text = vector.at("text");
    const bool found = !FindAll(file, *rule, vector.at("path").get<std::string>(), text).empty();
    Score& score = out[id];
    if (vector.at("want").get<bool>()) {
      ++score.wanted;
      score.found += found;
      if (!found && score.first_lost.empty()) score.first_lost = text.substr(0, 200);
    } else {
      ++score.unwanted;
      score.fired += found;
    }
  }
  return out;
}

TEST(GitleaksVectors, AreFoundByTheRulesWeShare) {
  const char* folder = std::getenv("KEYSIEVE_SHARED_CASES");
  if (folder == nullptr) GTEST_SKIP() << "KEYSIEVE_SHARED_CASES is not set: no vectors to try";
  std::ifstream vectors(std::string(folder) + "/gitleaks-vectors.jsonl");
  ASSERT_TRUE(vectors) << folder << " has no gitleaks-vectors.jsonl";
  const RuleFile file = ReadRuleFile(KEYSIEVE_DEFAULT_RULES);
  size_t wanted = 0;
  size_t found = 0;
  for (const auto& [id, score] : ScoreVectors(file, vectors)) {
    wanted += score.wanted;
    found += score.found;
    if (score.fired > 0) {
      std::cout << id << ": fires on " << score.fired << " of " << score.unwanted << " unwanted\n";
    }
    if (score.wanted == 0) continue;
    const double share = static_cast<double>(score.found) / static_cast<double>(score.wanted);
    EXPECT_GE(share, kFloor) << id << ": " << score.found << " of " << score.wanted << ", lost "
                             << score.first_lost;
    if (share >= kExpected) continue;
    const auto reason = Reasons().find(id);
    EXPECT_NE(reason, Reasons().end()) << id << " finds " << score.found << " of " << score.wanted
                                       << " and gives no reason; lost " << score.first_lost;
    if (reason == Reasons().end()) continue;
    std::cout << id << ": " << score.found << " of " << score.wanted << ": " << reason->second
              << "\n";
  }
  std::cout << "vectors of shared rules found: " << found << " of " << wanted << "\n";
  EXPECT_GE(static_cast<double>(found), kExpected * static_cast<double>(wanted));
}

}  // namespace
}  // namespace keysieve::rules_testing
