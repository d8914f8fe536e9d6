// SPDX-License-Identifier: MIT
// Windows against the whole blob: random regexes over random texts, and the handed rules over the
// handed vectors. The oracle is RE2 on all of the text; the hits come from plain searches.
#include "daemon/detect/matcher.h"

#include <map>
#include <numeric>
#include <random>

#include "daemon/detect/compiled_rules.h"
#include "daemon/detect/rule_merge.h"
#include "gmock/gmock.h"
#include "nlohmann/json.hpp"
#include "tests/daemon/detect/detect_testing.h"

namespace keysieve::detect {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<ByteRange> FindAll(const RuleMatcher& matcher, std::string_view text,
                               const HitIndex& hits) {
  std::vector<uint64_t> scratch;
  std::vector<ByteRange> matches;
  matcher.FindAll(text, hits, &scratch, &matches);
  return matches;
}

// The oracle: RE2 over the whole text, one match after the other, empty ones left out.
std::vector<ByteRange> WholeBlob(const Regex& regex, std::string_view text) {
  const re2::StringPiece whole(text.data(), text.size());
  std::vector<ByteRange> matches;
  re2::StringPiece match;
  for (uint64_t at = 0; at <= text.size() && regex.re2().Match(whole, at, text.size(),
                                                               re2::RE2::UNANCHORED, &match, 1);) {
    const uint64_t start = static_cast<uint64_t>(match.data() - text.data());
    if (!match.empty()) matches.push_back({start, start + match.size()});
    at = start + std::max<size_t>(match.size(), 1);
  }
  return matches;
}

RulePlan PlanOf(const std::string& pattern, const std::vector<std::string>& keywords = {}) {
  auto regex = Regex::Compile(pattern);
  EXPECT_TRUE(regex.ok()) << pattern;
  return PlanRule(*regex, keywords, regex::Profile::Default()).plan;
}

TEST(RulePlan, WaitsForKeywordsThatAMatchCouldBeWithout) {
  const std::vector<std::string> keyword = {"key"};
  EXPECT_THAT(PlanOf("key=[0-9]{9}", keyword).keywords, IsEmpty());
  EXPECT_THAT(PlanOf("(?i)KEY=[0-9]{9}", keyword).keywords, IsEmpty());
  EXPECT_THAT(PlanOf("x+(?:monkey|keyring)y", keyword).keywords, IsEmpty());
  EXPECT_THAT(PlanOf("(?:ke|xke)y[0-9]", keyword).keywords, IsEmpty());
  EXPECT_THAT(PlanOf("(?:key=)+abc", keyword).keywords, IsEmpty());
  EXPECT_EQ(PlanOf("(?:key=)*abc", keyword).keywords, keyword);
  EXPECT_EQ(PlanOf("(?:key|abc)=[0-9]{9}", keyword).keywords, keyword);
  EXPECT_EQ(PlanOf("ke[a-z][0-9]{9}", keyword).keywords, keyword);
  EXPECT_EQ(PlanOf("secret=[0-9]{9}", keyword).keywords, keyword);
}

TEST(RulePlan, SaysWhyARegexRunsOverTheWholeBlob) {
  EXPECT_EQ(PlanOf("[0-9]{4}").route, Route::kWholeBlob);
  EXPECT_THAT(PlanOf("[0-9]{4}").reason, HasSubstr("no literal"));
  EXPECT_THAT(PlanOf("p\xC3\xA4ss=\\w{8}").reason, HasSubstr("outside ASCII"));
  EXPECT_EQ(PlanOf("[0-9a-f]{32}").route, Route::kRuns);
  EXPECT_EQ(PlanOf("(?i)abcd[0-9]{4}").route, Route::kLiterals);
}

// Makes regexes with enough fixed text in them to have required literals, and all the rest there
// is.
class RegexMaker {
 public:
  explicit RegexMaker(uint64_t seed) : random_(seed) {}

  std::string Regex() {
    const char* flags[] = {"", "", "", "(?i)", "(?m)", "(?s)", "(?is)"};
    return flags[Below(7)] + Alternation(3);
  }
  std::string Text() {
    const char* pieces[] = {"abc", "ABC", "aBc", "bca", "cab",  "ab",   "c", "a",  "1",
                            "12",  "_",   " ",   "\n",  "\r\n", "\xE9", "z", "zz", "-"};
    std::string text;
    for (size_t i = Below(60); i > 0; --i) text += pieces[Below(std::size(pieces))];
    return text;
  }
  size_t Below(size_t limit) { return random_() % limit; }

 private:
  std::string Alternation(int depth) {
    std::string out = Sequence(depth);
    while (Below(4) == 0) out += "|" + Sequence(depth);
    return out;
  }
  std::string Sequence(int depth) {
    std::string out;
    for (size_t i = Below(4) + 1; i > 0; --i) out += Repeated(Atom(depth));
    return out;
  }
  std::string Repeated(const std::string& atom) {
    if (atom.empty() || atom.back() == '^' || atom.back() == '$' || atom == "\\b" ||
        atom == "\\B" || atom == "\\A" || atom == "\\z" || atom == "(?i)") {
      return atom;
    }
    const char* repeats[] = {"*", "+", "?", "{2}", "{0,3}", "{1,}", "{1,4}", "{3,9}"};
    if (Below(3) != 0) return atom;
    return "(?:" + atom + ")" + repeats[Below(std::size(repeats))] + (Below(3) == 0 ? "?" : "");
  }
  std::string Atom(int depth) {
    const char* words[] = {"abc", "bca", "cab", "ABC", "abcab", "ab", "c1", "a", "\\x61bc", "c\\-"};
    const char* others[] = {".",      "[ab]",        "[^a]", "\\d", "\\w",    "\\s",
                            "\\S",    "\\b",         "\\B",  "^",   "$",      "[a-c1]",
                            "[^\\s]", "[[:alpha:]]", "\\A",  "\\z", "[\\w-]", "(?i)",
                            "[]a]",   "[^]c\\n]",    "\\W",  "\\D"};
    if (depth > 0 && Below(4) == 0) {
      const char* opens[] = {"(", "(?:", "(?i:", "(?s:", "(?P<g>", "(?-i:"};
      const size_t open = Below(6);
      if (open == 4 && named_) return "(" + Alternation(depth - 1) + ")";
      named_ |= open == 4;
      return opens[open] + Alternation(depth - 1) + ")";
    }
    return Below(5) < 3 ? words[Below(std::size(words))] : others[Below(std::size(others))];
  }

  std::mt19937_64 random_;
  bool named_ = false;
};

TEST(RuleMatcher, AgreesWithTheWholeBlobForRandomRegexes) {
  std::map<Route, size_t> regexes;
  size_t matches = 0;
  const regex::Profile profile = regex::Profile::Default();
  for (uint64_t seed = 0; seed < 6000; ++seed) {
    RegexMaker maker(seed);
    const std::string pattern = maker.Regex();
    auto regex = Regex::Compile(pattern);
    if (!regex.ok()) continue;
    const PlannedRule planned = PlanRule(*regex, {}, profile);
    ++regexes[planned.plan.route];
    std::vector<uint32_t> positions(planned.plan.literals.size());
    std::iota(positions.begin(), positions.end(), 0u);
    const RuleMatcher matcher(*regex, planned, positions);
    for (int i = 0; i < 12; ++i) {
      const std::string text = maker.Text();
      const HitIndex hits(NaiveHits(planned.plan.literals, text), positions.size());
      const auto wanted = WholeBlob(*regex, text);
      matches += wanted.size();
      ASSERT_THAT(FindAll(matcher, text, hits), ElementsAreArray(wanted))
          << "seed " << seed << " regex " << pattern << " text " << testing::PrintToString(text);
    }
  }
  for (const auto& [route, count] : regexes) std::printf("%zu by %s\n", count, ToString(route));
  std::printf("%zu matches\n", matches);
  EXPECT_GT(regexes[Route::kLiterals], 1500u);
  EXPECT_GT(matches, 10000u);
}

TEST(RuleMatcher, AgreesForTheHandedRules) {
  KS_NEED_SHARED_CASES(cases);
  auto toml = ReadRuleFile(cases + "/gitleaks.toml");
  ASSERT_TRUE(toml.ok()) << Message(toml.status());
  std::vector<std::string> warnings;
  auto set = ReadRuleSet(*toml, "gitleaks.toml", {}, &warnings);
  ASSERT_TRUE(set.ok()) << Message(set.status());
  auto rules = CompileRules(*set, {}, &warnings);
  ASSERT_TRUE(rules.ok()) << Message(rules.status());
  std::ifstream lines(cases + "/gitleaks-vectors.jsonl");
  std::string text;
  size_t blobs = 0;
  size_t matches = 0;
  for (std::string line; std::getline(lines, line);) {
    text += nlohmann::json::parse(line)["text"].get<std::string>() + "\n";
    if (text.size() < 2000 + 500 * (blobs % 40)) continue;
    const HitIndex hits(NaiveHits(rules->gate.literals(), text), rules->gate.literals().size());
    for (const CompiledRule& rule : rules->rules) {
      if (rule.regex == nullptr) continue;
      const auto wanted = WholeBlob(*rule.regex, text);
      ASSERT_THAT(FindAll(*rule.matcher, text, hits), ElementsAreArray(wanted)) << rule.id;
      matches += wanted.size();
    }
    ++blobs;
    text.clear();
  }
  std::printf("%zu blobs, %zu matches\n", blobs, matches);
  EXPECT_GT(matches, 3000u);
}

TEST(HitIndex, MergesTheStartsOfSeveralLiterals) {
  const std::vector<megakernel::LiteralHit> hits = {{1, 2, 0}, {3, 4, 2}, {5, 6, 0}, {5, 7, 2}};
  const HitIndex index(hits, 3);
  std::vector<uint64_t> scratch = {99};
  const std::vector<uint32_t> all = {0, 1, 2}, one = {1, 2}, none = {1};
  EXPECT_THAT(index.StartsOfAny(all, &scratch), ElementsAre(1u, 3u, 5u, 5u));
  EXPECT_THAT(index.StartsOfAny(one, &scratch), ElementsAre(3u, 5u));
  EXPECT_THAT(index.StartsOfAny(none, &scratch), IsEmpty());
}

TEST(HitIndex, SortsWhatComesUnsortedAndDropsForeignLiterals) {
  const std::vector<megakernel::LiteralHit> hits = {{9, 10, 1}, {3, 4, 1}, {5, 6, 7}, {4, 5, 0}};
  const HitIndex index(hits, 3);
  EXPECT_THAT(index.StartsOf(1), ElementsAre(3u, 9u));
  EXPECT_THAT(index.StartsOf(0), ElementsAre(4u));
  EXPECT_FALSE(index.Has(2));
}

}  // namespace
}  // namespace keysieve::detect
