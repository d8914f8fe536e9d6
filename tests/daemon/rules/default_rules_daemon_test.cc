// SPDX-License-Identifier: MIT
// The rules we ship, in the daemon's own hands: they load without a word, none makes it read every
// byte with a regex, and what the plain reader finds in the examples the daemon finds too.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "daemon/detect/regex/cuts.h"
#include "daemon/detect/regex/parse.h"
#include "daemon/detect/rule_set.h"
#include "tests/daemon/detect/detect_testing.h"
#include "tests/daemon/rules/examples.h"

namespace keysieve::rules_testing {
namespace {

using detect::Finding;
using detect::Route;
using detect::RuleSet;

class DefaultRulesInTheDaemon : public testing::Test {
 protected:
  void SetUp() override {
    auto rules = RuleSet::LoadFile(KEYSIEVE_DEFAULT_RULES, {});
    ASSERT_TRUE(rules.ok()) << Message(rules.status());
    rules_ = *rules;
    file_ = ReadRuleFile(KEYSIEVE_DEFAULT_RULES);
  }
  std::shared_ptr<const RuleSet> rules_;
  RuleFile file_;
};

TEST_F(DefaultRulesInTheDaemon, LoadWithoutAWarning) {
  EXPECT_EQ(rules_->rules().size(), file_.rules.size());
  for (const std::string& warning : rules_->warnings()) ADD_FAILURE() << warning;
}

TEST_F(DefaultRulesInTheDaemon, WaitForAHitOrJudgeThePath) {
  ASSERT_EQ(rules_->plans().size(), file_.rules.size());
  for (size_t i = 0; i < file_.rules.size(); ++i) {
    const Route route = rules_->plans()[i].route;
    if (file_.rules[i].regex) {
      EXPECT_EQ(route, Route::kLiterals) << file_.rules[i].id << " goes by " << ToString(route);
    } else {
      EXPECT_EQ(route, Route::kPath) << file_.rules[i].id;
    }
  }
}

// Without a cut a device has nothing to look for. The ceiling is what one rule may cost: `pat`, the
// whole prefix of Airtable's tokens, is the worst there is.
TEST_F(DefaultRulesInTheDaemon, HaveCutsThatAreRareInOrdinaryText) {
  constexpr double kMostHitsPerMb = 1000;
  double hits_per_mb = 0;
  size_t literals = 0;
  for (const Rule& rule : file_.rules) {
    if (!rule.regex) continue;
    const auto ast = detect::regex::ParseRegex(rule.regex_text);
    ASSERT_TRUE(ast.ok()) << rule.id << ": " << Message(ast.status());
    const auto analysis = detect::regex::Analyze(*ast, detect::regex::Profile::Default());
    ASSERT_TRUE(analysis.cut) << rule.id << ": no literal is required";
    EXPECT_LT(analysis.cut->hits_per_mb, kMostHitsPerMb) << rule.id;
    hits_per_mb += analysis.cut->hits_per_mb;
    literals += analysis.cut->literals.size();
  }
  EXPECT_LT(hits_per_mb, 2 * kMostHitsPerMb) << "all rules together";
  std::cout << literals << " literals, " << hits_per_mb << " hits per MB of ordinary text\n";
}

// A generic rule's finding may give way to a specific one's of the same bytes, or of more.
bool Covered(const std::vector<Finding>& findings, const Expanded& example) {
  return std::any_of(findings.begin(), findings.end(), [&](const Finding& finding) {
    return finding.secret_start <= example.secret_start && finding.secret_end >= example.secret_end;
  });
}

TEST_F(DefaultRulesInTheDaemon, FindTheExamples) {
  const auto all = ReadExamples(KEYSIEVE_RULE_EXAMPLES);
  for (const Rule& rule : file_.rules) {
    for (const Expanded& example : all.at(rule.id).match) {
      const std::string path = rule.regex ? PathOf(rule) : example.text;
      const std::string text = rule.regex ? example.text : "";
      const std::vector<Finding> findings = detect::ScanText(*rules_, text, path);
      const bool found = std::any_of(findings.begin(), findings.end(), [&](const Finding& f) {
        return rules_->rules()[f.rule].id == rule.id && f.secret == example.secret();
      });
      EXPECT_TRUE(found || (rule.HasTag("generic") && Covered(findings, example)))
          << rule.id << ": " << example.text;
    }
  }
}

TEST_F(DefaultRulesInTheDaemon, LeaveTheCounterExamplesAlone) {
  const auto all = ReadExamples(KEYSIEVE_RULE_EXAMPLES);
  for (const Rule& rule : file_.rules) {
    for (const std::string& text : all.at(rule.id).no_match) {
      const std::string path = rule.regex ? PathOf(rule) : text;
      for (const Finding& finding : detect::ScanText(*rules_, rule.regex ? text : "", path)) {
        EXPECT_NE(rules_->rules()[finding.rule].id, rule.id) << text;
      }
    }
  }
}

}  // namespace
}  // namespace keysieve::rules_testing
