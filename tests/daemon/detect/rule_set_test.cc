// SPDX-License-Identifier: MIT
// What a rule set finds, and what it leaves alone: groups, entropy, allowlists, required rules,
// paths, comments, and the order of it all.
#include "daemon/detect/rule_set.h"

#include <thread>

#include "gmock/gmock.h"
#include "tests/daemon/detect/detect_testing.h"

namespace keysieve::detect {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<std::string> Secrets(const std::vector<Finding>& findings) {
  std::vector<std::string> secrets;
  for (const Finding& finding : findings) secrets.push_back(finding.secret);
  return secrets;
}

std::string Rule(const std::string& id, const std::string& regex, const std::string& more = "") {
  return "[[rules]]\nid = '" + id + "'\nregex = '''" + regex + "'''\n" + more + "\n";
}

TEST(RuleSet, FindsASecretWithItsPlaceAndEntropy) {
  const auto rules = Load(Rule("a", R"(key=(\w+);)"));
  const auto found = ScanText(*rules, "x\nzz key=abcd;\n");
  ASSERT_THAT(found, SizeIs(1));
  const Finding& finding = found[0];
  EXPECT_EQ(finding.match, "key=abcd;");
  EXPECT_EQ(finding.secret, "abcd");
  EXPECT_EQ(finding.match_start, 5u);
  EXPECT_EQ(finding.match_end, 14u);
  EXPECT_EQ(finding.secret_start, 9u);
  EXPECT_EQ(finding.secret_end, 13u);
  EXPECT_EQ(finding.start_line, 2u);
  EXPECT_EQ(finding.end_line, 2u);
  EXPECT_EQ(finding.start_column, 4u);
  EXPECT_EQ(finding.end_column, 12u);
  EXPECT_DOUBLE_EQ(finding.entropy, 2.0);
  EXPECT_THAT(finding.decode_path, IsEmpty());
}

TEST(RuleSet, TakesTheNamedGroupOrTheFirstThatIsNotEmpty) {
  EXPECT_THAT(Secrets(ScanText(*Load(Rule("a", "(x)?(y+)(z)")), "yyz")), ElementsAre("yy"));
  EXPECT_THAT(Secrets(ScanText(*Load(Rule("a", "(y+)(z)", "secretGroup = 2")), "yyz")),
              ElementsAre("z"));
  EXPECT_THAT(Secrets(ScanText(*Load(Rule("a", "y+z")), "yyz")), ElementsAre("yyz"));
  // A named group that took no part leaves the match.
  EXPECT_THAT(Secrets(ScanText(*Load(Rule("a", "(x)?(y+)", "secretGroup = 1")), "yy")),
              ElementsAre("yy"));
}

TEST(RuleSet, ReadsGoNamedGroups) {
  EXPECT_THAT(Secrets(ScanText(*Load(Rule("a", "(?<word>y+)z")), "yyz")), ElementsAre("yy"));
  EXPECT_THAT(Secrets(ScanText(*Load(Rule("a", "[(?<]+(?P<word>y+)")), "(?<yy")),
              ElementsAre("yy"));
}

TEST(RuleSet, LeavesLineEndsOutOfTheMatch) {
  const auto found = ScanText(*Load(Rule("a", R"(\n*(key\w+)\n)")), "\n\nkeyed\nx");
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].match, "keyed");
  EXPECT_EQ(found[0].secret, "keyed");
  EXPECT_EQ(found[0].start_line, 3u);
  EXPECT_EQ(found[0].start_column, 1u);
  EXPECT_EQ(found[0].end_line, 3u);
  EXPECT_EQ(found[0].end_column, 5u);
}

TEST(RuleSet, IgnoresEmptyMatchesAndWarnsOfThem) {
  const auto rules = Load(Rule("a", "x*"));
  EXPECT_THAT(rules->warnings(), ElementsAre(testing::HasSubstr("can match nothing at all")));
  EXPECT_THAT(Secrets(ScanText(*rules, "axxbx")), ElementsAre("xx", "x"));
}

TEST(RuleSet, WantsMoreThanTheEntropy) {
  const auto rules = Load(Rule("a", "k=([a-z]+)", "entropy = 2"));
  EXPECT_THAT(Secrets(ScanText(*rules, "k=abcd k=abcde k=aaaa")), ElementsAre("abcde"));
}

TEST(RuleSet, SeesBytesNotCharacters) {
  const auto rules = Load(Rule("a", "q='([^']{3})'"));
  EXPECT_THAT(Secrets(ScanText(*rules, "q='a\xE9z'")), ElementsAre("a\xE9z"));
}

TEST(RuleSet, SeesCharactersWhereARegexNamesThem) {
  const auto rules = Load(Rule("a", "pässwort=(\\w+)"));
  EXPECT_THAT(rules->warnings(), ElementsAre(testing::HasSubstr("outside ASCII")));
  EXPECT_EQ(rules->plans()[0].route, Route::kWholeBlob);
  EXPECT_THAT(Secrets(ScanText(*rules, "p\xC3\xA4sswort=abc")), ElementsAre("abc"));
}

TEST(RuleSet, RulesWithKeywordsWaitForOneAnywhere) {
  const auto rules = Load(Rule("a", "secret", "keywords = ['Marker', '']"));
  EXPECT_EQ(rules->plans()[0].route, Route::kLiterals);
  ASSERT_THAT(rules->literals(), SizeIs(2));  // the keyword, and what the regex is looked for by
  EXPECT_EQ(rules->literals()[0].bytes, "secret");
  EXPECT_EQ(rules->literals()[1].bytes, "marker");
  EXPECT_FALSE(rules->literals()[0].ignore_case);
  EXPECT_TRUE(rules->literals()[1].ignore_case);
  EXPECT_THAT(ScanText(*rules, "secret"), IsEmpty());
  EXPECT_THAT(ScanText(*rules, "secret" + std::string(300000, '.') + "MARKER"), SizeIs(1));
}

TEST(RuleSet, KeywordsThatEveryMatchHoldsAreNotLookedFor) {
  const auto rules = Load(Rule("a", "key=(?:abc|xyz)[0-9]{4}", "keywords = ['KEY']"));
  EXPECT_THAT(rules->plans()[0].keywords, IsEmpty());
  for (const megakernel::Literal& literal : rules->literals()) EXPECT_NE(literal.bytes, "key");
  EXPECT_THAT(ScanText(*rules, "key=abc1234"), SizeIs(1));
}

TEST(RuleSet, RulesWithoutLiteralsGoByRunsOfOneClass) {
  const auto rules = Load(Rule("a", "\\b[0-9a-f]{32}\\b"));
  EXPECT_EQ(rules->plans()[0].route, Route::kRuns);
  EXPECT_EQ(rules->plans()[0].run_bytes, 32u);
  EXPECT_THAT(rules->literals(), IsEmpty());
  EXPECT_THAT(ScanText(*rules, "x " + std::string(31, 'a') + " " + std::string(32, 'b') + " " +
                                   std::string(33, 'c')),
              SizeIs(1));
}

TEST(RuleSet, RulesWithoutKeywordsGoByTheLiteralsTheyNeed) {
  const auto rules = Load(Rule("a", "(?i)(?:alpha|beta)[0-9]+") + Rule("b", "[0-9]{4}"));
  EXPECT_EQ(rules->plans()[0].route, Route::kLiterals);
  EXPECT_EQ(rules->plans()[1].route, Route::kWholeBlob);
  EXPECT_THAT(RuleIds(*rules, ScanText(*rules, "BETA1 1234")), ElementsAre("a", "b"));
  EXPECT_THAT(ScanText(*rules, "gamma1"), IsEmpty());
}

TEST(RuleSet, SharesOneLiteralAmongRules) {
  const auto rules =
      Load(Rule("a", "x", "keywords = ['Key', 'key']") + Rule("b", "x", "keywords = ['KEY']"));
  EXPECT_THAT(rules->literals(), SizeIs(1));
  EXPECT_THAT(RuleIds(*rules, ScanText(*rules, "key x")), ElementsAre("a", "b"));
}

TEST(RuleSet, SortsByStartEndAndRule) {
  const auto rules = Load(Rule("a", "bc") + Rule("b", "abcd|b") + Rule("c", "bc"));
  EXPECT_THAT(RuleIds(*rules, ScanText(*rules, "abcd bc")),
              ElementsAre("b", "a", "c", "b", "a", "c"));
}

TEST(RuleSet, IgnoresTheOrderAndNumberOfHits) {
  const auto rules =
      Load(std::string(kPatRule) + Rule("b", "tok=(\\w+)", "keywords=['tok','ok=']"));
  const std::string text = "tok=" + Pat(1) + "\n" + Pat(2);
  auto hits = NaiveHits(rules->literals(), text);
  const auto wanted = rules->Scan({"p", text, ""}, hits);
  ASSERT_THAT(wanted, SizeIs(3));
  std::reverse(hits.begin(), hits.end());
  hits.insert(hits.begin(), hits.begin(), hits.begin() + 2);
  hits.push_back({0, 0, 4000000});  // of another set: no harm
  const auto again = rules->Scan({"p", text, ""}, hits);
  ASSERT_EQ(again.size(), wanted.size());
  for (size_t i = 0; i < again.size(); ++i) {
    EXPECT_EQ(again[i].fingerprint, wanted[i].fingerprint);
    EXPECT_EQ(again[i].match_start, wanted[i].match_start);
  }
}

TEST(RuleSet, FirstMatchWinsAsInGo) {
  EXPECT_THAT(Secrets(ScanText(*Load(Rule("a", "a|ab|abc")), "abc")), ElementsAre("a"));
  EXPECT_THAT(Secrets(ScanText(*Load(Rule("a", R"(\bab)")), "abab ab")), ElementsAre("ab", "ab"));
}

TEST(Paths, FilterRulesAndFireByThemselves) {
  const auto rules =
      Load(Rule("a", "x", "path = '\\.env$'") + "[[rules]]\nid = 'p'\npath = '''\\.p12$'''\n");
  EXPECT_EQ(rules->plans()[1].route, Route::kPath);
  EXPECT_THAT(ScanText(*rules, "x", "a.txt"), IsEmpty());
  EXPECT_THAT(ScanText(*rules, "x", "d/.env"), SizeIs(1));
  const auto found = ScanText(*rules, "", "k/store.p12");
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].match, "file detected: k/store.p12");
  EXPECT_EQ(found[0].secret, "");
  EXPECT_EQ(found[0].start_line, 0u);
  EXPECT_NE(found[0].fingerprint, ScanText(*rules, "", "other.p12")[0].fingerprint);
}

TEST(Paths, AllowlistedOnesAreExcludedBeforeAnyByte) {
  const auto rules =
      Load(std::string(kPatRule) +
           "[[allowlists]]\npaths = ['^vendor/']\n"
           "[[allowlists]]\ncondition = 'AND'\npaths = ['^gen/']\n"
           "[[allowlists]]\ncondition = 'AND'\npaths = ['^doc/']\nstopwords=['qqq']");
  EXPECT_EQ(rules->ExcludedByPath("vendor/a"), Exclusion::kAllowlistedPath);
  EXPECT_EQ(rules->ExcludedByPath("gen/a"), Exclusion::kAllowlistedPath);
  EXPECT_EQ(rules->ExcludedByPath("doc/a"), Exclusion::kNone);
  EXPECT_EQ(rules->ExcludedByPath("src/vendor/a"), Exclusion::kNone);
  EXPECT_EQ(rules->ExcludedByPath(""), Exclusion::kNone);
  EXPECT_THAT(ScanText(*rules, Pat(1), "vendor/a"), IsEmpty());
  EXPECT_THAT(ScanText(*rules, Pat(1), "src/a"), SizeIs(1));
}

TEST(Paths, InlineFlagsEndWithTheirOwnRegex) {
  const auto rules = Load("[[allowlists]]\npaths = ['(?i)\\.PNG$', '^abc$']");
  EXPECT_EQ(rules->ExcludedByPath("a.png"), Exclusion::kAllowlistedPath);
  EXPECT_EQ(rules->ExcludedByPath("ABC"), Exclusion::kNone);
}

class Allowlists : public testing::Test {
 protected:
  size_t Found(const std::string& allowlist, const std::string& text,
               const std::string& path = "a.txt", const std::string& commit = "") {
    return ScanText(*Load(Rule("a", "tok = \"(\\w+)\"") + allowlist), text, path, commit).size();
  }
};

TEST_F(Allowlists, RegexesLookAtTheTargetTheyName) {
  const std::string text = "# note\nlet tok = \"abcdef\" // example";
  const auto with = [&](const std::string& target, const std::string& regex) {
    return Found("[[rules.allowlists]]\n" + target + "regexes = ['''" + regex + "''']\n", text);
  };
  EXPECT_EQ(with("", "^abcdef$"), 0u);
  EXPECT_EQ(with("regexTarget = 'secret'\n", "^abcdef$"), 0u);
  EXPECT_EQ(with("", "tok"), 1u);
  EXPECT_EQ(with("regexTarget = 'match'\n", "^tok"), 0u);
  EXPECT_EQ(with("regexTarget = 'match'\n", "let"), 1u);
  EXPECT_EQ(with("regexTarget = 'line'\n", "^let .* example$"), 0u);
  EXPECT_EQ(with("regexTarget = 'line'\n", "note"), 1u);
}

TEST_F(Allowlists, StopwordsLookInsideTheSecretInAnyCase) {
  const std::string text = "tok = \"xxFakeKeyxx\"";
  EXPECT_EQ(Found("[[rules.allowlists]]\nstopwords = ['fakeKEY']", text), 0u);
  EXPECT_EQ(Found("[[rules.allowlists]]\nstopwords = ['k']", text), 0u);
  EXPECT_EQ(Found("[[rules.allowlists]]\nstopwords = ['tok']", text), 1u);
}

TEST_F(Allowlists, AndWantsAllOfThem) {
  const std::string list =
      "[[rules.allowlists]]\ncondition = 'AND'\ncommits = ['ABC1']\npaths = ['\\.md$']\n"
      "regexes = ['^a']\nstopwords = ['fake']\n";
  const std::string text = "tok = \"afake\"";
  EXPECT_EQ(Found(list, text, "a.md", "abc1"), 0u);
  EXPECT_EQ(Found(list, text, "a.txt", "abc1"), 1u);
  EXPECT_EQ(Found(list, text, "a.md", "abc2"), 1u);
  EXPECT_EQ(Found(list, "tok = \"bfake\"", "a.md", "abc1"), 1u);
  EXPECT_EQ(Found(list, "tok = \"areal\"", "a.md", "abc1"), 1u);
}

TEST_F(Allowlists, OrWantsOneOfThem) {
  const std::string list =
      "[[rules.allowlists]]\ncommits = ['abc1']\npaths = ['\\.md$']\nregexes = ['^a']\n"
      "stopwords = ['fake']\n";
  EXPECT_EQ(Found(list, "tok = \"real\"", "a.txt", "abc9"), 1u);
  EXPECT_EQ(Found(list, "tok = \"real\"", "a.txt", "ABC1"), 0u);
  EXPECT_EQ(Found(list, "tok = \"real\"", "a.md"), 0u);
  EXPECT_EQ(Found(list, "tok = \"areal\""), 0u);
  EXPECT_EQ(Found(list, "tok = \"realfake\""), 0u);
}

TEST_F(Allowlists, GlobalOnesHoldForAllRulesUnlessTargeted) {
  EXPECT_EQ(Found("[[allowlists]]\ncommits = ['abc1']", "tok = \"q\"", "p", "abc1"), 0u);
  EXPECT_EQ(Found("[allowlist]\nstopwords = ['fake']", "tok = \"fake\""), 0u);
  const auto rules = Load(Rule("a", "tok1=(\\w+)") + Rule("b", "tok2=(\\w+)") +
                          "[[allowlists]]\ntargetRules = ['b']\nstopwords = ['fake']\n");
  EXPECT_THAT(RuleIds(*rules, ScanText(*rules, "tok1=fake tok2=fake")), ElementsAre("a"));
}

class OnlyAdding : public testing::Test {
 protected:
  void SetUp() override {
    own_ = std::filesystem::path(testing::TempDir()) / "only_adding_own.toml";
    std::ofstream(own_) << Rule("own", "own=(\\w+)");
    options_.must_extend = own_.string();
    options_.may_extend_files = false;
  }
  void TearDown() override { std::filesystem::remove(own_); }
  std::filesystem::path own_;
  RuleOptions options_;
};

TEST_F(OnlyAdding, RulesLieOverTheDaemonsWhateverTheySay) {
  for (const char* head : {"", "[extend]\nuseDefault = true\n"}) {
    const auto rules = Load(head + Rule("added", "added=(\\w+)") +
                                "[[allowlists]]\ntargetRules = ['added']\nstopwords = ['fake']\n",
                            options_);
    EXPECT_THAT(RuleIds(*rules, ScanText(*rules, "own=fake added=fake added=b")),
                ElementsAre("own", "added"));
  }
}

TEST_F(OnlyAdding, WhateverWeakensIsRefused) {
  for (const auto& [toml, field] : std::vector<std::pair<std::string, std::string>>{
           {"[extend]\ndisabledRules = ['own']\n", "extend.disabledRules"},
           {"[extend]\npath = 'other.toml'\n", "extend.path"},
           {Rule("own", "nothing"), "rule own: id"},
           {"[allowlist]\npaths = ['.']\n", "allowlist"},
           {"[[allowlists]]\nstopwords = ['a']\n", "allowlists"},
           {"[[allowlists]]\ntargetRules = ['own']\nstopwords = ['a']\n", "allowlists"}}) {
    EXPECT_THAT(LoadError(toml, options_), testing::HasSubstr(field)) << toml;
  }
}

TEST(AllowComments, HoldForTheFindingsOwnLines) {
  const auto rules = Load(Rule("a", R"(tok=\w+(?:\n\w+)?)"));
  const auto suppressed_by = [&](std::string_view text) {
    const auto found = ScanText(*rules, text);
    return found.size() == 1 ? found[0].suppressed_by : "not one finding";
  };
  EXPECT_EQ(suppressed_by("tok=a # gitleaks:allow"), "gitleaks:allow");
  EXPECT_EQ(suppressed_by("tok=a // keysieve:allow"), "keysieve:allow");
  EXPECT_EQ(suppressed_by("# gitleaks:allow\ntok=a\n# keysieve:allow"), "");
  EXPECT_EQ(suppressed_by("tok=a\nbcd gitleaks:allow"), "gitleaks:allow");
  EXPECT_EQ(suppressed_by("tok=a gitleaks:allo"), "");
  EXPECT_THAT(ScanText(*rules, "tok=a # GITLEAKS:ALLOW"), SizeIs(1));
}

TEST(Generic, GivesWayToARuleThatKnowsBetter) {
  const auto rules = Load(Rule("my-Generic-key", R"(key=(\w+))") + Rule("known", R"(zz\w+)"));
  EXPECT_THAT(RuleIds(*rules, ScanText(*rules, "key=zzab")), ElementsAre("known"));
  EXPECT_THAT(RuleIds(*rules, ScanText(*rules, "key=abcd zz1")),
              ElementsAre("my-Generic-key", "known"));
  EXPECT_THAT(RuleIds(*rules, ScanText(*rules, "key=ab\nzzab")),
              ElementsAre("my-Generic-key", "known"));
  // Inside another secret of the line, wherever that stands.
  EXPECT_THAT(RuleIds(*rules, ScanText(*rules, "key=ab zz1ab2 key=1a key=bb")),
              ElementsAre("known", "my-Generic-key"));
}

TEST(Generic, ManyOnOneLineAreSettledInBoundedTime) {
  const auto rules = Load(Rule("generic", R"(key=(\w+))") + Rule("known", R"(zz\w+)"));
  std::string text;
  for (int i = 0; i < 20000; ++i)
    text += "key=a" + std::to_string(i) + " zz" + std::to_string(i) + " ";
  EXPECT_THAT(ScanText(*rules, text), SizeIs(40000));
}

TEST(Required, WantsTheOtherRuleNearEnough) {
  const auto rules =
      Load(Rule("main", R"(pw=(\w+))",
                "[[rules.required]]\nid = 'user'\nwithinLines = 1\nwithinColumns = 2") +
           Rule("user", R"(user=(\w+))", "skipReport = true\nkeywords = ['never']"));
  EXPECT_THAT(ScanText(*rules, "user=x"), IsEmpty());
  EXPECT_THAT(ScanText(*rules, "pw=x"), IsEmpty());
  EXPECT_THAT(RuleIds(*rules, ScanText(*rules, "user=x\npw=x")), ElementsAre("main"));
  EXPECT_THAT(ScanText(*rules, "user=x\n\npw=x"), IsEmpty());
  EXPECT_THAT(ScanText(*rules, "user=x\n  pw=x"), SizeIs(1));
  EXPECT_THAT(ScanText(*rules, "user=x\n   pw=x"), IsEmpty());
  EXPECT_THAT(ScanText(*rules, "user=a\n\n\n    user=x\npw=x\nuser=y"), SizeIs(1));
}

TEST(Required, WithoutADistanceTheBlobWillDo) {
  const auto rules = Load(Rule("main", R"(pw=(\w+))", "[[rules.required]]\nid = 'user'") +
                          Rule("user", R"(user=(\w+))"));
  EXPECT_THAT(RuleIds(*rules, ScanText(*rules, "pw=x" + std::string(999, '\n') + "user=y pw=z")),
              ElementsAre("main", "user", "main"));
}

TEST(Digest, NamesTheMeaningNotTheLayout) {
  const std::string a = Load(kPatRule)->digest();
  EXPECT_EQ(a.size(), 64u);
  EXPECT_EQ(a, Load(std::string("# note\ntitle = 'T'\n") + kPatRule)->digest());
  const std::string retyped =
      "[[rules]]\nkeywords = ['GHP_']\nentropy = 3.0\nregex = 'ghp_[0-9a-zA-Z]{36}'\n"
      "description = 'a GitHub token'\nid = 'github-pat'\n";
  EXPECT_EQ(a, Load(retyped)->digest());
  EXPECT_NE(a, Load(std::string(kPatRule) + "secretGroup = 0\ntags = ['x']")->digest());
  for (const char* changed : {"regex = 'ghp_[0-9a-zA-Z]{35}'", "entropy = 3.5", "id = 'other'",
                              "keywords = ['ghp']", "description = 'b'"}) {
    std::string text = retyped;
    const std::string key = std::string(changed).substr(0, std::string(changed).find(' ') + 3);
    const size_t at = text.find(key);
    ASSERT_NE(at, std::string::npos);
    text.replace(at, text.find('\n', at) - at, changed);
    EXPECT_NE(a, Load(text)->digest()) << changed;
  }
}

TEST(Threads, ShareOneRuleSet) {
  const auto rules = Load(std::string(kPatRule) + Rule("b", "(?i)tok\\s*=\\s*\"([^\"]{4,})\""));
  std::string text;
  for (int i = 0; i < 400; ++i) text += "Tok = \"" + Pat(i) + "\"\n";
  const auto hits = NaiveHits(rules->literals(), text);
  const auto wanted = rules->Scan({"p", text, ""}, hits);
  ASSERT_THAT(wanted, SizeIs(800));
  std::vector<std::vector<Finding>> got(8);
  std::vector<std::thread> threads;
  for (auto& out : got) {
    threads.emplace_back([&] {
      for (int i = 0; i < 5; ++i) out = rules->Scan({"p", text, ""}, hits);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& out : got) {
    ASSERT_EQ(out.size(), wanted.size());
    for (size_t i = 0; i < out.size(); ++i) {
      ASSERT_EQ(out[i].fingerprint, wanted[i].fingerprint);
      ASSERT_EQ(out[i].match_start, wanted[i].match_start);
      ASSERT_EQ(out[i].rule, wanted[i].rule);
    }
  }
}

}  // namespace
}  // namespace keysieve::detect
