// SPDX-License-Identifier: MIT
// The rules we ship, held to examples.toml: every rule says what it is and where that stands, finds
// its examples with the right secret, leaves the counter-examples alone, and keeps out of the other
// rules' way.
#include <gtest/gtest.h>
#include <re2/filtered_re2.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/daemon/rules/examples.h"
#include "tests/daemon/rules/rule_file.h"

namespace keysieve::rules_testing {
namespace {

constexpr size_t kRules = 276;

class DefaultRules : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    file_ = new RuleFile(ReadRuleFile(KEYSIEVE_DEFAULT_RULES));
    examples_ = new std::map<std::string, Examples>(ReadExamples(KEYSIEVE_RULE_EXAMPLES));
  }
  static void TearDownTestSuite() {
    delete examples_;
    delete file_;
  }

  // A rule that names only paths has paths for examples; every other one has text.
  static std::vector<Found> Find(const Rule& rule, const std::string& example) {
    return rule.regex ? FindAll(*file_, rule, PathOf(rule), example)
                      : FindAll(*file_, rule, example, "");
  }

  static RuleFile* file_;
  static std::map<std::string, Examples>* examples_;
};

RuleFile* DefaultRules::file_ = nullptr;
std::map<std::string, Examples>* DefaultRules::examples_ = nullptr;

TEST_F(DefaultRules, AreAsManyAsWeSayWithIdsOfTheirOwn) {
  std::set<std::string> ids;
  for (const Rule& rule : file_->rules) {
    EXPECT_TRUE(ids.insert(rule.id).second) << rule.id << " stands twice";
    EXPECT_TRUE(re2::RE2::FullMatch(rule.id, "[a-z0-9]+(-[a-z0-9]+)*")) << rule.id;
  }
  EXPECT_EQ(ids.size(), kRules);
}

TEST_F(DefaultRules, SayWhatTheyFindAndWhereItIsDocumented) {
  std::set<std::string> descriptions;
  for (const Rule& rule : file_->rules) {
    EXPECT_TRUE(re2::RE2::FullMatch(rule.source, "https://[a-z0-9.-]+/\\S*")) << rule.id;
    EXPECT_GT(rule.description.size(), 10u) << rule.id;
    EXPECT_TRUE(descriptions.insert(rule.description).second) << rule.id << ": said before";
  }
}

TEST_F(DefaultRules, CarryCategorySeverityAndConfidence) {
  for (const Rule& rule : file_->rules) {
    size_t severities = 0;
    size_t confidences = 0;
    for (const std::string& tag : rule.tags) {
      severities += re2::RE2::FullMatch(tag, "severity:(high|medium|low)");
      confidences += re2::RE2::FullMatch(tag, "confidence:(high|medium|low)");
    }
    EXPECT_EQ(severities, 1u) << rule.id;
    EXPECT_EQ(confidences, 1u) << rule.id;
    EXPECT_GE(rule.tags.size(), 4u) << rule.id << ": needs a category and a provider";
  }
}

// A gate that lets through what a device can look for: RE2's own prefilter must find a literal of
// three bytes or more that every match contains.
TEST_F(DefaultRules, HaveALiteralThatEveryMatchContains) {
  for (const Rule& rule : file_->rules) {
    if (!rule.regex) continue;
    re2::FilteredRE2 filtered(3);
    int id = -1;
    ASSERT_EQ(filtered.Add(rule.regex_text, RegexOptions(), &id), re2::RE2::NoError) << rule.id;
    std::vector<std::string> atoms;
    filtered.Compile(&atoms);
    std::vector<int> unfiltered;
    filtered.AllPotentials({}, &unfiltered);
    EXPECT_TRUE(unfiltered.empty()) << rule.id << ": no literal is required";
  }
}

TEST_F(DefaultRules, EveryKeywordIsLowerCaseAndEarnedByAnExample) {
  for (const Rule& rule : file_->rules) {
    EXPECT_EQ(rule.keywords.empty(), rule.regex == nullptr) << rule.id;
    for (const std::string& keyword : rule.keywords) {
      EXPECT_EQ(keyword, ToLower(keyword)) << rule.id;
      const auto& match = (*examples_)[rule.id].match;
      EXPECT_TRUE(std::any_of(match.begin(), match.end(),
                              [&](const Expanded& example) {
                                return ToLower(example.text).find(keyword) != std::string::npos;
                              }))
          << rule.id << ": no example has " << keyword;
    }
  }
}

TEST_F(DefaultRules, EachHasExamplesBothWaysAndNoExampleIsALoneOne) {
  for (const Rule& rule : file_->rules) {
    EXPECT_FALSE((*examples_)[rule.id].match.empty()) << rule.id;
    EXPECT_FALSE((*examples_)[rule.id].no_match.empty()) << rule.id;
  }
  for (const auto& [id, examples] : *examples_) {
    EXPECT_NE(file_->Find(id), nullptr) << id << " is no rule";
    for (const std::string& other : examples.also) {
      EXPECT_NE(file_->Find(other), nullptr) << id << ": also names " << other;
    }
  }
}

TEST_F(DefaultRules, FindTheirExamplesWithTheRightSecret) {
  for (const Rule& rule : file_->rules) {
    for (const Expanded& example : (*examples_)[rule.id].match) {
      EXPECT_TRUE(HasKeyword(rule, ToLower(example.text))) << rule.id << ": " << example.text;
      const std::vector<Found> found = Find(rule, example.text);
      ASSERT_EQ(found.size(), 1u) << rule.id << ": " << example.text;
      if (!rule.regex) continue;
      EXPECT_TRUE(example.has_secret) << rule.id << ": the example marks no secret";
      EXPECT_EQ(found[0].secret, example.secret()) << rule.id;
      EXPECT_EQ(found[0].secret_start, example.secret_start) << rule.id;
      EXPECT_GT(Entropy(found[0].secret), rule.entropy) << rule.id;
    }
  }
}

// In JSON, a log or source code a token often follows an escape sequence such as \n, whose letter
// is no part of a longer word.
TEST_F(DefaultRules, FindATokenRightAfterAnEscapeSequenceButNotInALongerWord) {
  size_t rules = 0;
  for (const Rule& rule : file_->rules) {
    if (!rule.regex || rule.regex->pattern().find("(?:\\b|\\\\[abfnrtv])(") != 0) continue;
    ++rules;
    for (const Expanded& example : (*examples_)[rule.id].match) {
      const std::string rest = example.text.substr(example.secret_start);
      for (const char* escape : {"\\n", "\\t", "\\r\\n"}) {
        const std::string before = std::string("\"log: ") + escape;
        const std::vector<Found> found = Find(rule, before + rest);
        ASSERT_EQ(found.size(), 1u) << rule.id << ": " << before << rest;
        EXPECT_EQ(found[0].secret, example.secret()) << rule.id;
      }
      for (const char* word : {"\"log: n", "\"log: \\xn"}) {
        for (const Found& found : Find(rule, word + rest)) {
          EXPECT_NE(found.secret_start, std::string(word).size())
              << rule.id << ": " << word << rest;
        }
      }
    }
  }
  EXPECT_GT(rules, 150u);
}

TEST_F(DefaultRules, LeaveCounterExamplesAlone) {
  for (const Rule& rule : file_->rules) {
    for (const std::string& text : (*examples_)[rule.id].no_match) {
      const std::vector<Found> found = Find(rule, text);
      EXPECT_TRUE(found.empty()) << rule.id << ": " << text << " gave " << found[0].secret;
    }
  }
}

// A boundary that eats a byte must not hide the token on the next line.
TEST_F(DefaultRules, FindTheSameExampleOnTwoLinesTwice) {
  for (const Rule& rule : file_->rules) {
    if (!rule.regex) continue;
    for (const Expanded& example : (*examples_)[rule.id].match) {
      EXPECT_EQ(Find(rule, example.text + "\n" + example.text).size(), 2u)
          << rule.id << ": " << example.text;
    }
  }
}

// The same where nothing but line ends stands between tokens.
TEST_F(DefaultRules, FindBareTokensOneALine) {
  for (const Rule& rule : file_->rules) {
    if (!rule.regex) continue;
    for (const Expanded& example : (*examples_)[rule.id].match) {
      const std::string secret = example.secret();
      if (Find(rule, secret).size() != 1) continue;  // needs what stands round it
      EXPECT_EQ(Find(rule, secret + "\n" + secret + "\r\n" + secret).size(), 3u)
          << rule.id << ": " << secret;
    }
  }
}

// Rules tagged generic look at the shape around a secret, so they may see what a specific rule
// sees. Between specific rules only the overlaps that examples.toml names are wanted.
TEST_F(DefaultRules, KeepOutOfEachOthersExamples) {
  for (const auto& [id, examples] : *examples_) {
    for (const Expanded& example : examples.match) {
      for (const Rule& rule : file_->rules) {
        if (rule.id == id || rule.HasTag("generic") || examples.also.count(rule.id) > 0) continue;
        if (!rule.regex) continue;
        const std::vector<Found> found = FindAll(*file_, rule, "any.txt", example.text);
        EXPECT_TRUE(found.empty()) << rule.id << " fires on " << id << ": " << example.text;
      }
    }
  }
}

TEST_F(DefaultRules, ExcludeGeneratedFilesAndNothingElse) {
  const auto excluded = [&](const char* path) {
    return std::any_of(file_->excluded_paths.begin(), file_->excluded_paths.end(),
                       [&](const auto& regex) { return re2::RE2::PartialMatch(path, *regex); });
  };
  for (const char* path : {"package-lock.json", "web/yarn.lock", "go.sum", "a/Cargo.lock", "x.PNG",
                           "a/node_modules/b/c.js", "fonts/a.woff2"}) {
    EXPECT_TRUE(excluded(path)) << path;
  }
  for (const char* path : {"package.json", "go.mod", ".env", "a/b.py", "locks.txt", "png", "x.svgz",
                           "my-yarn.lock.txt", "node_modules.md"}) {
    EXPECT_FALSE(excluded(path)) << path;
  }
}

TEST_F(DefaultRules, TakePlaceholdersForWhatTheyAre) {
  const Rule& rule = *file_->Find("github-pat");
  const std::string secret = ExpandOrThrow("gh{|}p_{alnum:36}", "placeholders", 0).text;
  const auto allowed = [&](const std::string& text) {
    for (const Allowlist& list : file_->allowlists) {
      for (const auto& regex : list.regexes) {
        if (re2::RE2::PartialMatch(text, *regex)) return true;
      }
    }
    return false;
  };
  ASSERT_EQ(FindAll(*file_, rule, "", secret).size(), 1u);
  EXPECT_FALSE(allowed(secret));
  EXPECT_FALSE(allowed("correct horse"));
  for (const char* text :
       {"${TOKEN}", "$TOKEN", "{{ token }}", "<your token>", "%TOKEN%", "xxxxxxxx", "********",
        "changeme", "your_token_here", "ghp_xxxxxxxxxxxx"}) {
    EXPECT_TRUE(allowed(text)) << text;
  }
}

}  // namespace
}  // namespace keysieve::rules_testing
