// SPDX-License-Identifier: MIT
// Cuts by example, and as a promise about every RE2 match: one of the literals stands inside it,
// within the reach claimed.
#include "daemon/detect/regex/cuts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <re2/re2.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "daemon/detect/regex/parse.h"
#include "evidence/base/status.h"
#include "tests/daemon/regex/cases.h"
#include "tests/daemon/regex/random_regex.h"

namespace keysieve::detect::regex {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

Analysis AnalysisOf(const std::string& pattern) {
  const auto ast = ParseRegex(pattern);
  EXPECT_TRUE(ast.ok()) << Message(ast.status());
  return Analyze(*ast, Profile::Default());
}

// "bytes" or "bytes/i", shortest first.
std::vector<std::string> LiteralsOf(const std::string& pattern) {
  std::vector<std::string> shown;
  const Analysis analysis = AnalysisOf(pattern);
  if (!analysis.cut) return shown;
  for (const auto& literal : analysis.cut->literals) {
    shown.push_back(literal.bytes + (literal.ignore_case ? "/i" : ""));
  }
  return shown;
}

TEST(Cuts, TakeALiteralFromAnywhereInTheRegex) {
  EXPECT_THAT(LiteralsOf("[a-z]+-zqx_token"), ElementsAre("-zqx_token"));
  EXPECT_THAT(LiteralsOf("(?:x{5}|y)*ghp_[0-9A-Za-z]{36}"), ElementsAre("ghp_"));
  EXPECT_THAT(LiteralsOf("(?i)zqx[ab]"), UnorderedElementsAre("zqxa/i", "zqxb/i"));
}

TEST(Cuts, PreferTheRarerPart) {
  EXPECT_THAT(LiteralsOf("return[a-z]+QZKX"), ElementsAre("QZKX"));
  EXPECT_THAT(LiteralsOf("QZKX[a-z]+return"), ElementsAre("QZKX"));
  EXPECT_THAT(LiteralsOf("(?i)the[0-9]+zqjx"), ElementsAre("zqjx/i"));
}

TEST(Cuts, TakeOneFromEveryBranch) {
  EXPECT_THAT(LiteralsOf("(?:qzkx[0-9]+|[0-9]+jqwv)"), UnorderedElementsAre("qzkx", "jqwv"));
  EXPECT_FALSE(AnalysisOf("qzkx|[0-9]+").cut);
  EXPECT_FALSE(AnalysisOf("(?:qzkx)?[0-9]+").cut);
  EXPECT_FALSE(AnalysisOf("(?:qzkx)*").cut);
}

TEST(Cuts, EnterRepeats) {
  EXPECT_THAT(LiteralsOf("-{5}BEGIN"), ElementsAre("-----BEGIN"));
  EXPECT_THAT(LiteralsOf("q{3,}"), ElementsAre("qqq"));
  EXPECT_THAT(LiteralsOf("(?:qzk[0-9]+;)+"), ElementsAre("qzk"));
}

TEST(Cuts, AreCaseInsensitiveOnlyIfALetterIs) {
  EXPECT_THAT(LiteralsOf("AKIA[0-9]{4}"), ElementsAre("AKIA"));
  EXPECT_THAT(LiteralsOf("(?i)akia[x-z]*"), ElementsAre("akia/i"));
  EXPECT_THAT(LiteralsOf("QZ(?i:k)"), ElementsAre("qzk/i"));
  EXPECT_THAT(LiteralsOf("(?i)1-_3"), ElementsAre("1-_3"));
}

TEST(Cuts, DropLiteralsThatBeginWithAnother) {
  const Analysis analysis = AnalysisOf("(?:qzk|ab_qzk|qzkjjj)[0-9]");
  ASSERT_TRUE(analysis.cut);
  ASSERT_EQ(analysis.cut->literals.size(), 2u);
  EXPECT_EQ(analysis.cut->literals[0].bytes, "qzk");
  EXPECT_EQ(analysis.cut->literals[1].bytes, "ab_qzk");
  EXPECT_EQ(analysis.cut->before, 0u);
  EXPECT_EQ(analysis.cut->after, 7u);
}

// Whether the cut's confirm matches `text` from its start.
bool Confirms(const std::string& pattern, const std::string& text) {
  const Analysis analysis = AnalysisOf(pattern);
  EXPECT_TRUE(analysis.cut && analysis.cut->confirm) << pattern;
  if (!analysis.cut || !analysis.cut->confirm) return false;
  const RE2 re(analysis.cut->confirm->pattern, RE2::Latin1);
  return re.Match(text, 0, text.size(), RE2::ANCHOR_START, nullptr, 0);
}

TEST(Cuts, ConfirmByWhatFollowsTheLiteral) {
  EXPECT_TRUE(Confirms("[a-z]{3}qzk[0-9]{4}(?:;|,)", "qzk1234,"));
  EXPECT_FALSE(Confirms("[a-z]{3}qzk[0-9]{4}(?:;|,)", "qzk1234."));
  EXPECT_FALSE(Confirms("(?:(?:qzk|jjv)=){1,2}[0-9]", "qzk=x"));
  EXPECT_TRUE(Confirms("(?:(?:qzk|jjv)=)+[0-9]", "qzk=jjv=7"));
  EXPECT_TRUE(Confirms("(?:qzk=|jjv:.*)[0-9]", "jjv:" + std::string(33, 'x')));
  EXPECT_TRUE(Confirms("q{3,5}z", "qqqqz"));
  EXPECT_FALSE(Confirms("q{3,5}z", "qqqqx"));
}

TEST(Cuts, ReachFromTheLiteralToBothEndsOfTheMatch) {
  const Analysis bounded = AnalysisOf("[0-9]{2,7}qzkx(?:;|,,){3}");
  EXPECT_EQ(bounded.cut->before, 7u);
  EXPECT_EQ(bounded.cut->after, 10u);
  EXPECT_EQ(bounded.width, (Widths{9, 17}));
  const Analysis open = AnalysisOf("[0-9]+qzkx.*");
  EXPECT_EQ(open.cut->before, kUnbounded);
  EXPECT_EQ(open.cut->after, kUnbounded);
}

TEST(RunProbe, IsTheLongestRequiredRun) {
  const Analysis analysis = AnalysisOf("\\b(?:ab_[0-9a-f]{40}|[0-9a-fA-F]{32})\\b");
  ASSERT_TRUE(analysis.run);
  EXPECT_EQ(analysis.run->min_bytes, 32u);
  EXPECT_EQ(analysis.run->set.count(), 22u);
  EXPECT_EQ(analysis.run->before, 3u);
  EXPECT_EQ(analysis.run->after, 40u);
  EXPECT_FALSE(AnalysisOf("a|[0-9]*").run);
}

TEST(Cuts, ExistForEveryGitleaksRegexOrARunDoes) {
  const std::string path = GitleaksPath();
  if (path.empty()) GTEST_SKIP() << "KEYSIEVE_SHARED_CASES is unset";
  std::vector<std::string> without;
  for (const NamedRegex& regex : LoadRegexes(path)) {
    const Analysis analysis = AnalysisOf(regex.pattern);
    if (analysis.cut) {
      EXPECT_LE(analysis.cut->literals.size(), kMaxCutLiterals) << regex.id;
      continue;
    }
    without.push_back(regex.id);
    ASSERT_TRUE(analysis.run) << regex.id;
    EXPECT_GE(analysis.run->min_bytes, 16u) << regex.id;
  }
  EXPECT_THAT(without, UnorderedElementsAre("sourcegraph-access-token", "vault-service-token"));
}

TEST(Cuts, EndSoonOnPatternsBuiltToExplode) {
  std::string classes, optional, nested = "[ab]", deep = "qzkx";
  for (int i = 0; i < 2000; ++i) classes += "[a-p]";
  for (int i = 0; i < 4000; ++i) optional += "(?:ab|c)?";
  for (int i = 0; i < 100; ++i) nested = "(?:(?:" + nested + "){1,30}|c){2,9}";
  for (int i = 0; i < 200; ++i) deep = "(?:a" + deep + "|b)";
  for (const std::string& pattern : {classes, optional, nested, deep}) {
    const Analysis analysis = AnalysisOf(pattern);
    if (!analysis.cut) continue;
    EXPECT_LE(analysis.cut->literals.size(), kMaxCutLiterals);
  }
}

bool SameByte(uint8_t a, uint8_t b, bool ignore_case) {
  auto lower = [](uint8_t c) -> uint8_t { return c >= 'A' && c <= 'Z' ? c + 0x20 : c; };
  return ignore_case ? lower(a) == lower(b) : a == b;
}

bool StandsAt(const megakernel::Literal& literal, std::string_view text, size_t at) {
  if (at + literal.bytes.size() > text.size()) return false;
  for (size_t i = 0; i < literal.bytes.size(); ++i) {
    if (!SameByte(literal.bytes[i], text[at + i], literal.ignore_case)) return false;
  }
  return true;
}

// Whether `prefix` matches, anchored at `at`, and no further than it claims.
bool Matches(const RE2& re, uint64_t max_bytes, const std::string& text, size_t at) {
  const size_t end = std::min<size_t>(text.size(), at + max_bytes);
  return re.Match(text, at, end, RE2::ANCHOR_START, nullptr, 0);
}

bool CutHolds(const Cut& cut, const std::string& text, std::string_view match) {
  RE2::Options options(RE2::Latin1);
  options.set_log_errors(false);
  const RE2 confirm(cut.confirm ? cut.confirm->pattern : "", options);
  const uint64_t bytes = cut.confirm ? cut.confirm->max_bytes : 0;
  const size_t start = static_cast<size_t>(match.data() - text.data());
  for (size_t p = 0; p < match.size(); ++p) {
    if (p > cut.before || match.size() - p > cut.after) continue;
    for (const auto& literal : cut.literals) {
      if (!StandsAt(literal, match, p)) continue;
      if (!confirm.ok() || Matches(confirm, bytes, text, start + p)) return true;
    }
  }
  return false;
}

bool PrefixHolds(const Prefix& prefix, const std::string& text, std::string_view match) {
  RE2::Options options(RE2::Latin1);
  options.set_log_errors(false);
  const RE2 re(prefix.pattern, options);
  return !re.ok() ||
         Matches(re, prefix.max_bytes, text, static_cast<size_t>(match.data() - text.data()));
}

bool RunHolds(const RunProbe& run, std::string_view match) {
  for (size_t p = 0; p + run.min_bytes <= match.size(); ++p) {
    if (p > run.before || match.size() - p > run.after) continue;
    uint64_t length = 0;
    while (length < run.min_bytes && run.set[static_cast<uint8_t>(match[p + length])]) ++length;
    if (length == run.min_bytes) return true;
  }
  return false;
}

struct Tally {
  uint64_t cases = 0, with_cut = 0, with_run = 0, matches = 0;
};

// Every match of a random regex on a random text, of the leftmost-first and the longest kind.
void CheckOne(uint64_t seed, Tally* tally) {
  RandomRegex random(seed, {.max_depth = static_cast<int>(1 + seed % 4)});
  const std::string pattern = random.Pattern();
  RE2::Options options(RE2::Latin1);
  options.set_log_errors(false);
  options.set_longest_match(seed % 2 == 0);
  const RE2 re(pattern, options);
  const auto ast = ParseRegex(pattern);
  if (!re.ok() || !ast.ok()) return;
  static const Profile profile = Profile::Default();
  const Analysis analysis = Analyze(*ast, profile);
  tally->with_cut += analysis.cut.has_value();
  tally->with_run += analysis.run.has_value();
  if (!analysis.cut && !analysis.run) return;
  for (int i = 0; i < 6; ++i) {
    ++tally->cases;
    const std::string text = random.Text(*ast, 120);
    re2::StringPiece group;
    for (size_t at = 0; re.Match(text, at, text.size(), RE2::UNANCHORED, &group, 1);) {
      const std::string_view match(group.data(), group.size());
      ASSERT_FALSE(match.empty()) << pattern;
      ASSERT_TRUE(!analysis.cut || CutHolds(*analysis.cut, text, match)) << seed << ": " << pattern;
      ASSERT_TRUE(!analysis.prefix || PrefixHolds(*analysis.prefix, text, match))
          << seed << ": " << pattern;
      ASSERT_TRUE(!analysis.run || RunHolds(*analysis.run, match)) << seed << ": " << pattern;
      ++tally->matches;
      at = static_cast<size_t>(match.data() - text.data()) + match.size();
    }
  }
}

// For ten seconds, or $KEYSIEVE_REGEX_CUT_CASES cases.
TEST(Cuts, HoldForEveryMatchOfRandomRegexes) {
  const uint64_t wanted = EnvCount("KEYSIEVE_REGEX_CUT_CASES", 0);
  const auto stop = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  Tally tally;
  for (uint64_t seed = EnvCount("KEYSIEVE_REGEX_SEED", 1);; ++seed) {
    if (wanted != 0 ? tally.cases >= wanted : std::chrono::steady_clock::now() >= stop) break;
    CheckOne(seed, &tally);
    if (HasFatalFailure()) return;
  }
  std::printf("%lu cases, %lu matches; %lu regexes with a cut, %lu with a run\n", tally.cases,
              tally.matches, tally.with_cut, tally.with_run);
  EXPECT_GT(tally.with_cut, 50u);
  EXPECT_GT(tally.with_run, 50u);
  EXPECT_GT(tally.matches, tally.cases / 2);
}

}  // namespace
}  // namespace keysieve::detect::regex
