// SPDX-License-Identifier: MIT
// Windows against the whole blob: random regexes over random texts, and the handed rules over the
// handed vectors. The oracle is RE2 on all of the text; the hits come from plain searches.
#include "daemon/detect/matcher.h"

#include <random>
#include <set>

#include "daemon/detect/compiled_rules.h"
#include "daemon/detect/rule_merge.h"
#include "gmock/gmock.h"
#include "nlohmann/json.hpp"
#include "tests/daemon/detect/detect_testing.h"

namespace keysieve::detect {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

std::vector<ByteRange> FindAll(const RuleMatcher& matcher, std::string_view text,
                               const HitIndex& hits) {
  std::vector<ByteRange> matches;
  matcher.FindAll(text, hits, &matches);
  return matches;
}

std::optional<RequiredLiterals> RequiredOf(const std::string& pattern,
                                           const std::vector<std::string>& sought = {}) {
  const auto tree = ParseSyntax(pattern);
  return tree ? FindRequired(*tree, sought) : std::nullopt;
}

std::vector<std::string> LiteralsOf(const std::string& pattern,
                                    const std::vector<std::string>& sought = {}) {
  const auto required = RequiredOf(pattern, sought);
  return required ? required->literals : std::vector<std::string>();
}

TEST(RequiredLiterals, AreStringsThatEveryMatchHolds) {
  EXPECT_THAT(LiteralsOf("ghp_[0-9a-zA-Z]{36}"), ElementsAre("ghp_"));
  EXPECT_THAT(LiteralsOf("(?i)KEY"), ElementsAre("key"));
  EXPECT_THAT(LiteralsOf("(?:alpha|beta)x"), ElementsAre("alphax", "betax"));
  EXPECT_THAT(LiteralsOf("a?bcd"), ElementsAre("bcd"));
  EXPECT_THAT(LiteralsOf("gh[op]_"), ElementsAre("gho_", "ghp_"));
  EXPECT_THAT(LiteralsOf("(?:abc){2,}"), ElementsAre("abcabc"));
  EXPECT_THAT(LiteralsOf("\\Qa.b\\E+"), ElementsAre());
  EXPECT_THAT(LiteralsOf("x\\.y\\-z"), ElementsAre("x.y-z"));
  EXPECT_THAT(LiteralsOf("[[:alpha:]]{8}"), ElementsAre());
  EXPECT_THAT(LiteralsOf("abc|x"), ElementsAre());
  EXPECT_THAT(LiteralsOf("(?:abc)*"), ElementsAre());
  EXPECT_THAT(LiteralsOf(".*abc"), ElementsAre());  // may begin anywhere before it
  EXPECT_THAT(LiteralsOf("ey\\w+"), ElementsAre());
  EXPECT_THAT(LiteralsOf("ey\\w+", {"ey"}), ElementsAre("ey"));  // short, but looked for anyway
  EXPECT_THAT(LiteralsOf("\\x61\\x{62}c"), ElementsAre("abc"));
}

TEST(RequiredLiterals, SayHowFarAMatchReaches) {
  auto required = RequiredOf("[a-z.]{2,5}qzx\\d{3}");
  ASSERT_TRUE(required);
  EXPECT_EQ(required->before, 5u);
  EXPECT_EQ(required->longest, 11u);
  required = RequiredOf("qzx[^;]+;");
  ASSERT_TRUE(required);
  EXPECT_EQ(required->before, 0u);
  EXPECT_FALSE(required->longest);
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

std::vector<megakernel::Literal> AsLiterals(const RequiredLiterals& required) {
  std::vector<megakernel::Literal> literals;
  for (const std::string& bytes : required.literals) literals.push_back({bytes, true});
  return literals;
}

std::vector<uint32_t> FirstPositions(size_t count) {
  std::vector<uint32_t> positions(count);
  for (uint32_t i = 0; i < count; ++i) positions[i] = i;
  return positions;
}

// Holds what FindRequired() says to each match there really is.
void CheckClaims(const RequiredLiterals& required, std::string_view text,
                 const std::vector<ByteRange>& matches) {
  for (const ByteRange& match : matches) {
    ASSERT_LE(match.end - match.start, required.longest.value_or(text.size()));
    const std::string bytes = FoldAscii(text.substr(match.start, match.end - match.start));
    size_t nearest = std::string::npos;
    for (const std::string& literal : required.literals) {
      nearest = std::min(nearest, bytes.find(literal));
    }
    ASSERT_LE(nearest, required.before);
  }
}

TEST(Windows, AgreeWithTheWholeBlobForRandomRegexes) {
  size_t windowed = 0;
  size_t matches = 0;
  for (uint64_t seed = 0; seed < 12000; ++seed) {
    RegexMaker maker(seed);
    const std::string pattern = maker.Regex();
    auto regex = Regex::Compile(pattern);
    if (!regex.ok()) continue;
    const auto required = RequiredOf(regex->pattern(), {"ab", "c1", "bc"});
    if (!required) continue;
    ++windowed;
    const auto literals = AsLiterals(*required);
    const auto whole = WholeBlobMatcher(&*regex);
    const auto windows = WindowMatcher(&*regex, *required, FirstPositions(literals.size()));
    for (int i = 0; i < 12; ++i) {
      const std::string text = maker.Text();
      const HitIndex hits(NaiveHits(literals, text), literals.size());
      const auto wanted = FindAll(*whole, text, hits);
      matches += wanted.size();
      ASSERT_NO_FATAL_FAILURE(CheckClaims(*required, text, wanted)) << pattern << "\n" << text;
      ASSERT_THAT(FindAll(*windows, text, hits), ElementsAreArray(wanted))
          << "seed " << seed << " regex " << pattern << " text " << testing::PrintToString(text);
    }
  }
  std::printf("%zu regexes with windows, %zu matches\n", windowed, matches);
  EXPECT_GT(windowed, 3000u);
  EXPECT_GT(matches, 20000u);
}

TEST(Windows, SeeWhatStandsAroundThem) {
  auto regex = Regex::Compile("(?m)^abc\\b|abc$");
  ASSERT_TRUE(regex.ok());
  const auto required = RequiredOf(regex->pattern());
  ASSERT_TRUE(required);
  const auto literals = AsLiterals(*required);
  const auto windows = WindowMatcher(&*regex, *required, FirstPositions(literals.size()));
  const std::string text = "abc abcd abc\nabcd\nabc";
  const HitIndex hits(NaiveHits(literals, text), literals.size());
  EXPECT_THAT(FindAll(*windows, text, hits),
              ElementsAre(ByteRange{0, 3}, ByteRange{9, 12}, ByteRange{18, 21}));
}

TEST(Windows, AgreeForTheHandedRules) {
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
      const auto wanted = FindAll(*WholeBlobMatcher(rule.regex.get()), text, hits);
      ASSERT_THAT(FindAll(*rule.matcher, text, hits), ElementsAreArray(wanted)) << rule.id;
      matches += wanted.size();
    }
    ++blobs;
    text.clear();
  }
  std::printf("%zu blobs, %zu matches\n", blobs, matches);
  EXPECT_GT(matches, 3000u);
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
