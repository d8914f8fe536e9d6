// SPDX-License-Identifier: MIT
// The small parts: lines, entropy, fingerprints, redaction, and the command line's answers.
#include <unistd.h>

#include "daemon/detect/entropy.h"
#include "daemon/detect/fingerprint.h"
#include "daemon/detect/line_index.h"
#include "daemon/detect/literal_search.h"
#include "daemon/detect/redact.h"
#include "daemon/detect/rules_cli.h"
#include "gmock/gmock.h"
#include "tests/daemon/detect/detect_testing.h"

namespace keysieve::detect {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

TEST(LineIndex, CountsEveryKindOfLineEndOnce) {
  LineIndex lines("a\nb\r\nc\rd\n\r\ne");
  EXPECT_EQ(lines.LineOf(0), 1u);
  EXPECT_EQ(lines.LineOf(1), 1u);  // a line owns the bytes that end it
  EXPECT_EQ(lines.LineOf(2), 2u);
  EXPECT_EQ(lines.LineOf(4), 2u);
  EXPECT_EQ(lines.LineOf(5), 3u);
  EXPECT_EQ(lines.LineOf(7), 4u);
  EXPECT_EQ(lines.LineOf(9), 5u);
  EXPECT_EQ(lines.LineOf(11), 6u);
  EXPECT_EQ(lines.ColumnOf(0), 1u);
  EXPECT_EQ(lines.ColumnOf(4), 3u);
  EXPECT_EQ(lines.ColumnOf(11), 1u);
}

TEST(LineIndex, GivesWholeLinesWithoutTheirEnds) {
  LineIndex lines("ab\r\ncd\ref\n");
  EXPECT_EQ(lines.LinesOf(1, 2), "ab");
  EXPECT_EQ(lines.LinesOf(5, 6), "cd");
  EXPECT_EQ(lines.LinesOf(0, 6), "ab\r\ncd");
  EXPECT_EQ(lines.LinesOf(7, 9), "ef");
  EXPECT_EQ(lines.LinesOf(10, 10), "");
  EXPECT_EQ(LineIndex("").LinesOf(0, 0), "");
  EXPECT_EQ(LineIndex("x").LinesOf(0, 1), "x");
}

TEST(Entropy, IsShannonsInBitsAByte) {
  EXPECT_EQ(ShannonEntropy(""), 0);
  EXPECT_EQ(ShannonEntropy("aaaa"), 0);
  EXPECT_DOUBLE_EQ(ShannonEntropy("ab"), 1);
  EXPECT_DOUBLE_EQ(ShannonEntropy("abcdefgh"), 3);
  std::string all;
  for (int c = 0; c < 256; ++c) all += static_cast<char>(c);
  EXPECT_DOUBLE_EQ(ShannonEntropy(all), 8);
}

// The wanted names come from another implementation of HMAC and base32 (Python's).
TEST(Fingerprint, IsKeyIdAndTwentyCharactersOfBase32) {
  FingerprintKeys keys;
  keys.keys = {{"7", "new key"}, {"6", "old key"}};
  const Fingerprinter names(keys);
  EXPECT_FALSE(names.published());
  EXPECT_EQ(names.Of("github-pat", "secret"), "k7:fuqif6nceuans6dxzuih");
  EXPECT_THAT(names.AllOf("github-pat", "secret"),
              ElementsAre("k7:fuqif6nceuans6dxzuih", "k6:lxdrzislfqdnfjamljiq"));
  const Fingerprinter published({});
  EXPECT_TRUE(published.published());
  EXPECT_THAT(published.Of("r", "s"), MatchesRegex("k0:[a-z2-7]{20}"));
}

TEST(Fingerprint, KeepsRuleAndSecretApart) {
  const Fingerprinter names({});
  EXPECT_NE(names.Of("ab", "c"), names.Of("a", "bc"));
}

TEST(Redact, ReplacesTheSecretInTheMatch) {
  EXPECT_EQ(RedactMatch("key=abc;", "abc"), "key=REDACTED;");
  EXPECT_EQ(RedactMatch("abc=abc", "abc"), "REDACTED=REDACTED");
  EXPECT_EQ(RedactMatch("xaaaay", "aaa"), "xREDACTEDy");  // overlapping ones, all of them
  EXPECT_EQ(RedactMatch("abcabc", "abc"), "REDACTED");
}

TEST(Redact, ReplacesAllWhereTheSecretIsNotInside) {
  EXPECT_EQ(RedactMatch("key=YWJj", "abc"), "REDACTED");
  EXPECT_EQ(RedactMatch("key=abc", ""), "REDACTED");
}

TEST(Redact, HidesNeighboursThatReachIntoAMatch) {
  const std::string text = "k=one two three";
  std::vector<Finding> findings(3);
  const auto set = [&](Finding* f, size_t ms, size_t me, size_t ss, size_t se) {
    *f = {.match_start = ms, .match_end = me, .secret_start = ss, .secret_end = se};
    f->match = text.substr(ms, me - ms);
    f->secret = text.substr(ss, se - ss);
  };
  set(&findings[0], 0, 12, 2, 5);     // "k=one two th" with secret "one"
  set(&findings[1], 6, 9, 6, 9);      // "two"
  set(&findings[2], 10, 15, 10, 15);  // "three", reaches out of the first
  RedactFindings(findings);
  EXPECT_EQ(findings[0].match, "k=REDACTED REDACTED REDACTED");
  EXPECT_EQ(findings[1].match, "REDACTED");
  EXPECT_EQ(findings[0].secret, "REDACTED");
}

TEST(Redact, HidesADecodedMatchWhole) {
  std::vector<Finding> findings(1);
  findings[0].match = "key=abc and more";
  findings[0].secret = "abc";
  findings[0].decode_path = {"base64"};
  RedactFindings(findings);
  EXPECT_EQ(findings[0].match, "REDACTED");
}

TEST(Redact, LeavesFindingsOfPathsAlone) {
  std::vector<Finding> findings(1);
  findings[0].match = "file detected: a.p12";
  RedactFindings(findings);
  EXPECT_EQ(findings[0].match, "file detected: a.p12");
}

TEST(LiteralSearch, AgreesWithPlainSearches) {
  const std::vector<megakernel::Literal> literals = {
      {"aa", true}, {"aA", false}, {"a", true}, {std::string("\0b", 2), false}, {"aab", true}};
  const std::string text = std::string("aAab\0bAAAB\0B", 12) + "aaa";
  EXPECT_EQ(SearchLiterals(literals, text), NaiveHits(literals, text));
}

class RulesCli : public testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        std::filesystem::path(testing::TempDir()) / ("keysieve-cli-" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
    rules_ = Write("rules.toml", std::string(kPatRule) +
                                     "tags = ['token']\nseverity = 1\n"
                                     "[[rules]]\nid = 'store'\npath = '\\.p12$'\n"
                                     "[[rules]]\nid = 'four'\nregex = '[0-9]{4}'\nentropy = 1\n"
                                     "[[rules.allowlists]]\nstopwords = ['00']\n");
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string Write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return folder_ / name;
  }
  std::filesystem::path folder_;
  std::string rules_;
};

TEST_F(RulesCli, ChecksAFile) {
  const auto text = CheckRules(rules_, {});
  ASSERT_TRUE(text.ok()) << Message(text.status());
  EXPECT_THAT(*text,
              HasSubstr("warning: " + rules_ + ":9: rule github-pat: severity: unknown key"));
  EXPECT_THAT(*text, HasSubstr("3 rules, 1 literals, 1 warnings"));
  EXPECT_THAT(*text, HasSubstr("by whole blob: 1 (four)\n"));
  EXPECT_THAT(*text, HasSubstr("digest "));
  const auto broken = CheckRules(Write("broken.toml", "[[rules]]\nid = 'a'\n"), {});
  EXPECT_THAT(Message(broken.status()), HasSubstr("broken.toml:1: rule a: regex: missing"));
  EXPECT_THAT(Message(CheckRules("/nowhere.toml", {}).status()), HasSubstr("cannot open"));
}

TEST_F(RulesCli, ListsRulesInOrder) {
  const auto text = ListRules(rules_, {});
  ASSERT_TRUE(text.ok());
  EXPECT_EQ(*text,
            "github-pat  literals    [token] a GitHub token\n"
            "store       path        \n"
            "four        whole blob  \n");
}

TEST_F(RulesCli, ExplainsOneRule) {
  const auto text = ExplainRule(rules_, {}, "four");
  ASSERT_TRUE(text.ok());
  EXPECT_THAT(*text, HasSubstr("regex: [0-9]{4}\n"));
  EXPECT_THAT(*text, HasSubstr("looks at a blob by: whole blob\n  because its matches share no"));
  const auto pat = ExplainRule(rules_, {}, "github-pat");
  ASSERT_TRUE(pat.ok());
  EXPECT_THAT(*pat, HasSubstr("looks at a blob by: literals\n  literals: 'ghp_'\n"));
  EXPECT_THAT(*pat, HasSubstr("reaches back 0 bytes and on 40 bytes; it has 40 to 40 bytes\n"));
  EXPECT_THAT(*text, HasSubstr("entropy: more than 1 bits a byte\n"));
  EXPECT_THAT(*text, HasSubstr("any of\n  stopwords: 00\n"));
  EXPECT_EQ(Message(ExplainRule(rules_, {}, "github").status()),
            "no rule 'github' in " + rules_ + "; there are github-pat");
}

TEST_F(RulesCli, TestsAFileAndShowsNoSecret) {
  const std::string file = Write("in.txt", "a\n  " + Pat(3) + "\n");
  const auto text = TestRules(rules_, {}, file);
  ASSERT_TRUE(text.ok());
  EXPECT_THAT(*text, HasSubstr(file + ":2:3: github-pat: REDACTED (k0:"));
  EXPECT_THAT(*text, HasSubstr("1 findings"));
  EXPECT_THAT(*text, Not(HasSubstr(Pat(3).substr(4, 8))));
  EXPECT_THAT(Message(TestRules(rules_, {}, "/nowhere").status()), HasSubstr("cannot read"));
}

}  // namespace
}  // namespace keysieve::detect
