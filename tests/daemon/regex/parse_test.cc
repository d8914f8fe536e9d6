// SPDX-License-Identifier: MIT
// The parser against RE2 itself: the tree's language, run by a matcher that knows neither, must
// give RE2's leftmost-longest match in Latin-1.
#include "daemon/detect/regex/parse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <re2/re2.h>

#include <chrono>
#include <cstdio>

#include "evidence/base/status.h"
#include "tests/daemon/regex/cases.h"
#include "tests/daemon/regex/random_regex.h"
#include "tests/daemon/regex/set_matcher.h"

namespace keysieve::detect::regex {
namespace {

using ::testing::HasSubstr;

RE2::Options LongestLatin1() {
  RE2::Options options(RE2::Latin1);
  options.set_log_errors(false);
  options.set_longest_match(true);
  return options;
}

std::string Escaped(std::string_view bytes) {
  std::string out;
  for (const uint8_t c : bytes) {
    char buffer[8];
    std::snprintf(buffer, sizeof(buffer), c >= 0x20 && c < 0x7F ? "%c" : "\\x%02X", c);
    out += buffer;
  }
  return out;
}

std::string Span(bool found, size_t start, size_t end) {
  return found ? Cat("[", start, ",", end, ")") : "no match";
}

// What the tree says of `text`, and what RE2 says.
std::pair<std::string, std::string> BothSay(const Ast& ast, const RE2& re, std::string_view text) {
  const auto ours = LeftmostLongest(ast, text);
  re2::StringPiece group;
  const re2::StringPiece whole(text.data(), text.size());
  const bool found = re.Match(whole, 0, text.size(), RE2::UNANCHORED, &group, 1);
  const size_t start = found ? static_cast<size_t>(group.data() - text.data()) : 0;
  return {ours ? Span(true, ours->first, ours->second) : Span(false, 0, 0),
          Span(found, start, start + group.size())};
}

void ExpectSame(std::string_view pattern, std::string_view text) {
  const auto ast = ParseRegex(pattern);
  ASSERT_TRUE(ast.ok()) << Message(ast.status());
  const RE2 re(re2::StringPiece(pattern.data(), pattern.size()), LongestLatin1());
  ASSERT_TRUE(re.ok()) << re.error();
  const auto [ours, theirs] = BothSay(*ast, re, text);
  EXPECT_EQ(ours, theirs) << Escaped(pattern) << " on " << Escaped(text);
}

std::string ErrorOf(std::string_view pattern) {
  const auto ast = ParseRegex(pattern);
  return ast.ok() ? "no error" : Message(ast.status());
}

TEST(Parse, ReadsEveryGitleaksRegex) {
  const std::string path = GitleaksPath();
  if (path.empty()) GTEST_SKIP() << "KEYSIEVE_SHARED_CASES is unset";
  const std::vector<NamedRegex> regexes = LoadRegexes(path);
  EXPECT_EQ(regexes.size(), 221u);
  for (const NamedRegex& regex : regexes) {
    EXPECT_EQ(ErrorOf(regex.pattern), "no error") << regex.id;
  }
}

TEST(Parse, FoldsCaseAsRe2DoesInLatin1ForEveryByte) {
  for (int p = 0; p < 256; ++p) {
    char escape[8];
    std::snprintf(escape, sizeof(escape), "\\x%02x", p);
    for (const std::string& pattern : {Cat("(?i)", escape), Cat("(?i)[", escape, "]"),
                                       Cat("(?i)[^", escape, "]"), Cat("[^", escape, "]")}) {
      const auto ast = ParseRegex(pattern);
      ASSERT_TRUE(ast.ok()) << Message(ast.status());
      const RE2 re(pattern, LongestLatin1());
      for (int t = 0; t < 256; ++t) {
        const std::string text(1, static_cast<char>(t));
        const auto [ours, theirs] = BothSay(*ast, re, text);
        ASSERT_EQ(ours, theirs) << pattern << " on byte " << t;
      }
    }
  }
}

TEST(Parse, GivesEveryNamedClassRe2sBytesFoldedOrNot) {
  std::vector<std::string> classes = {"\\d", "\\D", "\\s", "\\S", "\\w", "\\W", ".", "\\C"};
  for (const char* name : {"alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower",
                           "print", "punct", "space", "upper", "word", "xdigit"}) {
    for (const char* form : {"[[:%s:]]", "[[:^%s:]]", "[^[:%s:]]", "[^[:^%s:]]", "[[:^%s:]k]"}) {
      char buffer[64];
      std::snprintf(buffer, sizeof(buffer), form, name);
      classes.push_back(buffer);
    }
  }
  for (const std::string& pattern : classes) {
    for (const char* flag : {"", "(?i)", "(?s)"}) {
      for (int t = 0; t < 256; ++t)
        ExpectSame(flag + pattern, std::string(1, static_cast<char>(t)));
    }
  }
}

TEST(Parse, ReadsCountsAsRe2Does) {
  ExpectSame("a{2,3}b", "aaaab");
  ExpectSame("a{,3}", "a{,3}");
  ExpectSame("a{2", "aa{2");
  ExpectSame("a{02}", "aa a{02}");
  ExpectSame("x{1}{", "x{");
}

TEST(Parse, ReadsQuotesFlagsAndGroupsAsRe2Does) {
  ExpectSame("\\Qa.*\\E+b", "xa.***b");
  ExpectSame("\\Qa\\\\b\\E", "a\\\\b a\\b");
  ExpectSame("\\Qa|(", "xa|(");
  ExpectSame("x(?i)a|b(?-i)c|D", "zB xA bc d");
  ExpectSame("(?i:a)b", "aB Ab");
  ExpectSame("(?P<n>a)|", "ba");
  ExpectSame("(?s-i:a.)A", "a\nA");
  ExpectSame("(?m)^a$", "b\na\nb");
  ExpectSame("^a$", "b\na\nb");
  ExpectSame("()|a", "a");
  ExpectSame("[]-a]+", "x]^_a");
}

TEST(Parse, RefusesWhatItDoesNotKnowAndNamesTheByte) {
  EXPECT_THAT(ErrorOf("ab(?=c)"), HasSubstr("byte 2: lookaround"));
  EXPECT_THAT(ErrorOf("ab(?<!c)"), HasSubstr("byte 3: lookaround"));
  EXPECT_THAT(ErrorOf("a\\pL"), HasSubstr("byte 1: a Unicode class (\\p) needs UTF-8"));
  EXPECT_THAT(ErrorOf("[\\p{Greek}]"), HasSubstr("needs UTF-8"));
  EXPECT_THAT(ErrorOf("\\x{100}"), HasSubstr("above 0xFF needs UTF-8"));
  EXPECT_THAT(ErrorOf("\\1"), HasSubstr("back-reference"));
  EXPECT_THAT(ErrorOf("a**"), HasSubstr("byte 2: a repetition with nothing"));
  EXPECT_THAT(ErrorOf("*a"), HasSubstr("byte 0"));
  EXPECT_THAT(ErrorOf("(a"), HasSubstr("byte 0: a '(' without"));
  EXPECT_THAT(ErrorOf("a)"), HasSubstr("byte 1: a ')' without"));
  EXPECT_THAT(ErrorOf("x[a"), HasSubstr("byte 1: a '[' without"));
  EXPECT_THAT(ErrorOf("[b-a]"), HasSubstr("byte 1: a range"));
  EXPECT_THAT(ErrorOf("[[:foo:]]"), HasSubstr("'foo'"));
  EXPECT_THAT(ErrorOf("a{1001}"), HasSubstr("above 1000"));
  EXPECT_THAT(ErrorOf("a{3,2}"), HasSubstr("swapped"));
  EXPECT_THAT(ErrorOf("(?x)a"), HasSubstr("unknown flag"));
  EXPECT_THAT(ErrorOf("a\\"), HasSubstr("byte 1: a backslash ends"));
  EXPECT_THAT(ErrorOf("\\y"), HasSubstr("unknown escape"));
  EXPECT_THAT(ErrorOf("\\xg1"), HasSubstr("two hexadecimal"));
}

TEST(Parse, RefusesPatternsBeyondItsLimitsWithoutHanging) {
  EXPECT_THAT(ErrorOf(std::string(100000, '(')), HasSubstr("at most 65536"));
  EXPECT_THAT(ErrorOf(std::string(60000, '(')), HasSubstr("deeper than 250"));
  EXPECT_THAT(
      ErrorOf(std::string(kMaxGroupDepth + 1, '(') + "a" + std::string(kMaxGroupDepth + 1, ')')),
      HasSubstr("deeper than 250"));
  EXPECT_EQ(ErrorOf(std::string(kMaxGroupDepth, '(') + "a" + std::string(kMaxGroupDepth, ')')),
            "no error");
  std::string wide;
  while (wide.size() < kMaxPatternBytes) wide += "a?";
  EXPECT_THAT(ErrorOf(wide.substr(0, kMaxPatternBytes)), HasSubstr("more than 32768 parts"));
}

TEST(Parse, SaysWhenAPatternNamesABytesAbove0x7F) {
  for (const char* pattern : {"\xE9", "\\xE9", "[\\xE9]", "[a-\\xFF]", "\\x{e9}", "\\351"}) {
    const auto ast = ParseRegex(pattern);
    ASSERT_TRUE(ast.ok()) << Message(ast.status());
    EXPECT_TRUE(ast->non_ascii) << pattern;
  }
  for (const char* pattern : {"a", "[^a]", "\\x7F", "[\\x00-\\x7f]", "\\W", "[[:^alpha:]]", "."}) {
    const auto ast = ParseRegex(pattern);
    ASSERT_TRUE(ast.ok()) << Message(ast.status());
    EXPECT_FALSE(ast->non_ascii) << pattern;
  }
}

// Damaged patterns: whatever both take must mean the same; nothing may crash or hang.
TEST(Parse, SurvivesDamagedPatterns) {
  uint64_t both = 0;
  for (uint64_t seed = 1; seed <= 20000; ++seed) {
    RandomRegex random(seed);
    std::string pattern = random.Pattern();
    for (uint64_t n = 1 + random.Below(3); n > 0 && !pattern.empty(); --n) {
      const size_t at = random.Below(pattern.size());
      static constexpr std::string_view kBytes = "\\()[]{}?*+|^$-:<>PQE01,;\"!\xFFi";
      const char c = kBytes[random.Below(kBytes.size())];
      switch (random.Below(3)) {
        case 0:
          pattern.erase(at, 1);
          break;
        case 1:
          pattern.insert(at, 1, c);
          break;
        default:
          pattern[at] = c;
      }
    }
    const auto ast = ParseRegex(pattern);
    const RE2 re(pattern, LongestLatin1());
    if (!ast.ok() || !re.ok()) continue;
    ++both;
    const std::string text = random.Text(*ast, 30);
    const auto [ours, theirs] = BothSay(*ast, re, text);
    ASSERT_EQ(ours, theirs) << "seed " << seed << ": " << Escaped(pattern);
  }
  EXPECT_GT(both, 1000u);
}

// Random patterns until the time is up, or $KEYSIEVE_REGEX_PARSE_CASES of them.
TEST(Parse, MeansWhatRe2MeansOnRandomPatterns) {
  const uint64_t wanted = EnvCount("KEYSIEVE_REGEX_PARSE_CASES", 0);
  const auto stop = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  uint64_t cases = 0, refused = 0, matched = 0;
  auto more = [&] {
    return wanted != 0 ? cases < wanted : std::chrono::steady_clock::now() < stop;
  };
  for (uint64_t seed = EnvCount("KEYSIEVE_REGEX_SEED", 1); more(); ++seed) {
    RandomRegex random(seed);
    const std::string pattern = random.Pattern();
    const RE2 re(pattern, LongestLatin1());
    const auto ast = ParseRegex(pattern);
    if (!re.ok() || !ast.ok()) {
      ++refused;
      ASSERT_TRUE(!re.ok()) << "RE2 takes " << Escaped(pattern) << ": " << Message(ast.status());
      continue;
    }
    for (int i = 0; i < 8; ++i, ++cases) {
      const std::string text = random.Text(*ast, 40);
      const auto [ours, theirs] = BothSay(*ast, re, text);
      ASSERT_EQ(ours, theirs) << "seed " << seed << ": " << Escaped(pattern) << " on "
                              << Escaped(text);
      matched += theirs != "no match";
    }
  }
  std::printf("%lu cases, %lu with a match, %lu patterns refused by RE2\n", cases, matched,
              refused);
  EXPECT_GT(matched, cases / 4);
  EXPECT_LT(matched, cases);
}

}  // namespace
}  // namespace keysieve::detect::regex
