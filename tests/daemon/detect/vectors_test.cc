// SPDX-License-Identifier: MIT
// The handed rule file and its test vectors: each text is scanned with the whole rule set and must
// give, or must not give, a finding of the rule it was made for.
#include "daemon/detect/rule_set.h"
#include "nlohmann/json.hpp"
#include "tests/daemon/detect/detect_testing.h"

namespace keysieve::detect {
namespace {

TEST(HandedRules, LoadWhole) {
  KS_NEED_SHARED_CASES(cases);
  auto rules = RuleSet::LoadFile(cases + "/gitleaks.toml", {});
  ASSERT_TRUE(rules.ok()) << Message(rules.status());
  EXPECT_EQ((*rules)->rules().size(), 222u);
  for (const std::string& warning : (*rules)->warnings()) std::printf("%s\n", warning.c_str());
  std::map<Route, size_t> by_route;
  for (const RulePlan& plan : (*rules)->plans()) ++by_route[plan.route];
  for (const auto& [route, count] : by_route) std::printf("%zu by %s\n", count, ToString(route));
  EXPECT_EQ(by_route[Route::kWholeBlob], 0u);
  EXPECT_EQ(by_route[Route::kPath], 1u);
  std::printf("%zu literals\n", (*rules)->literals().size());
}

TEST(HandedVectors, AllBehave) {
  KS_NEED_SHARED_CASES(cases);
  auto loaded = RuleSet::LoadFile(cases + "/gitleaks.toml", {});
  ASSERT_TRUE(loaded.ok()) << Message(loaded.status());
  const RuleSet& rules = **loaded;
  std::ifstream lines(cases + "/gitleaks-vectors.jsonl");
  size_t vectors = 0;
  size_t misbehaving = 0;
  for (std::string line; std::getline(lines, line);) {
    const auto vector = nlohmann::json::parse(line);
    const std::string rule = vector["rule"], text = vector["text"], path = vector["path"];
    ++vectors;
    bool found = false;
    for (const Finding& finding : ScanText(rules, text, path)) {
      found |= RuleId(rules, finding) == rule;
    }
    if (found == vector["want"].get<bool>()) continue;
    ++misbehaving;
    if (misbehaving <= 20) ADD_FAILURE() << "vector " << vectors << " of " << rule << ": " << line;
  }
  std::printf("%zu vectors, %zu misbehaving\n", vectors, misbehaving);
  EXPECT_EQ(misbehaving, 0u);
  EXPECT_GE(vectors, 3854u);
}

}  // namespace
}  // namespace keysieve::detect
