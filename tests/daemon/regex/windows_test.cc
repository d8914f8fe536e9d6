// SPDX-License-Identifier: MIT
// Windowed matching against RE2 over whole blobs: the same matches with the same groups, whatever
// the regex, the text, the cut and how loosely it reaches.
#include "daemon/detect/regex/windows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <memory>

#include "daemon/detect/regex/parse.h"
#include "evidence/base/status.h"
#include "tests/daemon/regex/cases.h"
#include "tests/daemon/regex/random_regex.h"

namespace keysieve::detect::regex {
namespace {

using ::testing::ElementsAre;

// Each match's groups as "[start,end)" or "-", one line a match.
using Matches = std::vector<std::string>;

void AddGroup(const char* data, size_t size, std::string_view blob, std::string* line) {
  if (data == nullptr) {
    *line += " -";
    return;
  }
  const auto start = data - blob.data();
  *line += Cat(" [", start, ",", static_cast<size_t>(start) + size, ")");
}

// The oracle: RE2 over the whole blob, one match after the other, empty ones as Go has them.
Matches WholeBlob(const RE2& re, std::string_view blob) {
  Matches matches;
  const re2::StringPiece text(blob.data(), blob.size());
  std::vector<re2::StringPiece> groups(static_cast<size_t>(re.NumberOfCapturingGroups()) + 1);
  size_t at = 0;
  int64_t previous_end = -1;
  while (at <= text.size() && re.Match(text, at, text.size(), RE2::UNANCHORED, groups.data(),
                                       static_cast<int>(groups.size()))) {
    const auto start = groups[0].data() - blob.data();
    const auto end = start + static_cast<int64_t>(groups[0].size());
    if (end > start || start != previous_end) {
      matches.emplace_back();
      for (const auto& group : groups) AddGroup(group.data(), group.size(), blob, &matches.back());
    }
    previous_end = end;
    at = static_cast<size_t>(end > start ? end : end + 1);
  }
  return matches;
}

auto Collect(std::string_view blob, Matches* matches) {
  return [blob, matches](std::span<const std::string_view> groups) {
    matches->emplace_back();
    for (const auto& group : groups) AddGroup(group.data(), group.size(), blob, &matches->back());
  };
}

RE2::Options Latin1() {
  RE2::Options options(RE2::Latin1);
  options.set_log_errors(false);
  return options;
}

bool SameByte(uint8_t a, uint8_t b, bool ignore_case) {
  auto lower = [](uint8_t c) -> uint8_t { return c >= 'A' && c <= 'Z' ? c + 0x20 : c; };
  return ignore_case ? lower(a) == lower(b) : a == b;
}

// Where any of the cut's literals begins, the plain way.
std::vector<uint64_t> HitsOf(const Cut& cut, std::string_view text) {
  std::vector<uint64_t> hits;
  for (size_t at = 0; at < text.size(); ++at) {
    for (const auto& literal : cut.literals) {
      bool same = at + literal.bytes.size() <= text.size();
      for (size_t i = 0; same && i < literal.bytes.size(); ++i) {
        same = SameByte(literal.bytes[i], text[at + i], literal.ignore_case);
      }
      if (same) hits.push_back(at);
    }
  }
  return hits;
}

// Analyses `pattern` and matches `text` in windows of its cut.
Matches InWindows(const std::string& pattern, std::string_view text) {
  const auto ast = ParseRegex(pattern);
  EXPECT_TRUE(ast.ok()) << Message(ast.status());
  const Analysis analysis = Analyze(*ast, Profile::Default());
  Matches matches;
  EXPECT_TRUE(analysis.cut) << pattern;
  if (!analysis.cut) return matches;
  const RE2 re(pattern, Latin1());
  WindowedMatcher(re, analysis)
      .ForEachMatch(text, HitsOf(*analysis.cut, text), Collect(text, &matches));
  return matches;
}

std::vector<Window> WindowsOf(std::span<const Sighting> sightings, uint64_t before, uint64_t after,
                              uint64_t size) {
  WindowMerger merger(before, after, size);
  std::vector<Window> windows;
  Window window;
  for (const Sighting& sighting : sightings) {
    if (merger.Add(sighting, &window)) windows.push_back(window);
  }
  if (merger.Finish(&window)) windows.push_back(window);
  return windows;
}

TEST(Windows, MergeWhereTheyMeetAndStayInsideTheBlob) {
  const std::vector<Sighting> hits = {{5, 5}, {12, 12}, {40, 40}, {40, 40}, {98, 98}};
  EXPECT_THAT(WindowsOf(hits, 4, 4, 100),
              ElementsAre(Window{1, 16, 12}, Window{36, 44, 40}, Window{94, 100, 98}));
  EXPECT_THAT(WindowsOf(hits, 30, 4, 100), ElementsAre(Window{0, 44, 40}, Window{68, 100, 98}));
  EXPECT_THAT(WindowsOf(hits, 1, kUnbounded, 100), ElementsAre(Window{4, 100, 98}));
  EXPECT_THAT(WindowsOf(hits, kUnbounded, 1, 100), ElementsAre(Window{0, 99, 98}));
  EXPECT_THAT(WindowsOf({}, 1, 1, 100), ElementsAre());
}

TEST(Windows, GiveTheLongMatchThatTouchesNoEdge) {
  const RE2 re("a.*z|a", Latin1());
  Matches matches;
  const std::string text = "..abcz..";
  const std::vector<uint64_t> hits = {2};
  Analysis analysis;
  analysis.cut = Cut{.before = 0, .after = kUnbounded};
  WindowedMatcher(re, analysis).ForEachMatch(text, hits, Collect(text, &matches));
  EXPECT_THAT(matches, ElementsAre(" [2,6)"));
}

TEST(Windows, SeeTheBlobAroundThem) {
  EXPECT_THAT(InWindows("\\bqzk\\b", "xqzk qzkx qzk.qzk"), ElementsAre(" [10,13)", " [14,17)"));
  EXPECT_THAT(InWindows("\\Bqzk\\B", "xqzk qzkx xqzkx"), ElementsAre(" [11,14)"));
  EXPECT_THAT(InWindows("(?m)^qzk$", "qzk\nqzkx\nqzk\nxqzk"), ElementsAre(" [0,3)", " [9,12)"));
  EXPECT_THAT(InWindows("^qzk", "qzk qzk"), ElementsAre(" [0,3)"));
  EXPECT_THAT(InWindows("qzk$", "qzk qzk"), ElementsAre(" [4,7)"));
  EXPECT_THAT(InWindows("qzk$", "qzk qzk\n"), ElementsAre());
  EXPECT_THAT(InWindows("(?:^|\\s)qzk(?:$|\\s)", "qzk qzk\tqzk"), ElementsAre(" [0,4)", " [7,11)"));
}

TEST(Windows, LetOneMatchSwallowTheHitsInsideIt) {
  EXPECT_THAT(InWindows("qzk[a-z]{0,6}", "qzkqzkqzkqzk"), ElementsAre(" [0,9)", " [9,12)"));
  EXPECT_THAT(InWindows("(a{0,3}?)qzk", "aaaaqzkaqzk"),
              ElementsAre(" [1,7) [1,4)", " [7,11) [7,8)"));
  EXPECT_THAT(InWindows("qzk.*", "qzk qzk\nqzk"), ElementsAre(" [0,7)", " [8,11)"));
  EXPECT_THAT(InWindows(".*?qzk(x)?", "ab qzkx cd qzk"), ElementsAre(" [0,7) [6,7)", " [7,14) -"));
}

// RE2 20220601 in Latin-1 loses matches of branches that share a first byte above 0x7F; the prefix
// made for a rule must not fall into that.
TEST(Windows, StartAtBytesAbove0x7F) {
  const std::string text =
      "zz\xC3"
      "abqzkz;z;!zz";
  EXPECT_THAT(InWindows("\xC3"
                        "abqzk(?:z;)*!",
                        text),
              ElementsAre(" [2,13)"));
}

TEST(Windows, WithoutACutOrARunAreTheWholeBlob) {
  const RE2 re("[0-9]|b", Latin1());
  const std::string text = "a1bb";
  const WindowedMatcher matcher(re, Analysis());
  Matches by_hits, by_runs;
  matcher.ForEachMatch(text, {}, Collect(text, &by_hits));
  matcher.ForEachMatchByRuns(text, Collect(text, &by_runs));
  EXPECT_THAT(by_hits, ElementsAre(" [1,2)", " [2,3)", " [3,4)"));
  EXPECT_EQ(by_runs, by_hits);
}

TEST(Windows, WithoutHelpAreTheWholeBlob) {
  for (const char* pattern : {"a*", "a*?", "|a", "b*|a", "\\b", "$", "", "(a|)(b|)"}) {
    const RE2 re(pattern, Latin1());
    const std::string text = "aab ba\nabba";
    Matches matches;
    WindowedMatcher(re, Analysis()).ForEachMatchOfBlob(text, Collect(text, &matches));
    EXPECT_EQ(matches, WholeBlob(re, text)) << pattern;
  }
}

TEST(FindRuns, FindsEachMaximalRunLongEnough) {
  RunProbe probe{.min_bytes = 3};
  probe.set.set('a').set('b');
  auto found = [&](std::string_view text) {
    std::vector<std::string> shown;
    for (const Sighting& run : FindRuns(text, probe))
      shown.push_back(Cat(run.first, "-", run.last));
    return shown;
  };
  EXPECT_THAT(found(""), ElementsAre());
  EXPECT_THAT(found("ab"), ElementsAre());
  EXPECT_THAT(found("abb"), ElementsAre("0-0"));
  EXPECT_THAT(found("xabxabaxabbab"), ElementsAre("4-4", "8-10"));
  for (int seed = 0; seed < 2000; ++seed) {
    RandomRegex random(static_cast<uint64_t>(seed));
    std::string text;
    for (uint64_t n = random.Below(60); n > 0; --n) text += "abx"[random.Below(3)];
    std::vector<std::string> expected;
    for (size_t i = 0; i < text.size(); ++i) {
      size_t end = i;
      while (end < text.size() && text[end] != 'x') ++end;
      if (end - i >= 3) expected.push_back(Cat(i, "-", end - 3));
      if (end > i) i = end;
    }
    EXPECT_EQ(found(text), expected) << text;
  }
}

// Another profile finds another cut: a random one makes any required literal the rarest.
Profile RandomProfile(RandomRegex* random) {
  auto levels = [&](size_t n) {
    std::string text;
    for (; n > 0; --n) text += EncodeRate(1.0 / static_cast<double>(1 + random->Below(1 << 20)));
    return text;
  };
  constexpr size_t kTrigrams = size_t{kByteClasses} * kByteClasses * kByteClasses;
  return Profile(levels(kTrigrams), levels(27), levels(256));
}

std::string RandomPattern(RandomRegex* random) {
  static constexpr const char* kCores[] = {"abc", "aab", "(?i:bca)", "cab_", "a0b", "bb1"};
  if (random->Below(4) == 0) return random->Pattern();
  std::string core = kCores[random->Below(std::size(kCores))];
  if (random->Below(3) == 0) core = "(?:" + core + "|" + kCores[random->Below(6)] + ")";
  if (random->Below(4) == 0) core = "(" + core + "){1,2}";
  std::string head = random->Below(3) == 0 ? "" : "(?:" + random->Pattern() + ")";
  std::string tail = random->Below(3) == 0 ? "" : "(?:" + random->Pattern() + ")";
  if (random->Below(3) == 0 && !tail.empty()) tail += "?";
  return head + core + tail;
}

struct Tally {
  uint64_t cases = 0, matches = 0, narrow = 0, open = 0, runs = 0, refuted = 0;
};

class Differential {
 public:
  explicit Differential(uint64_t seed)
      : random_(seed, {.max_depth = static_cast<int>(1 + seed % 4)}), seed_(seed) {}

  void Run(const Profile& profile, Tally* tally) {
    pattern_ = RandomPattern(&random_);
    const RE2 re(pattern_, Latin1());
    const auto ast = ParseRegex(pattern_);
    if (!re.ok() || !ast.ok()) return;
    Analysis analysis = Analyze(*ast, profile);
    if (!analysis.cut && !analysis.run) return;
    Loosen(&analysis);
    Analysis runs = analysis;
    runs.cut.reset();
    const WindowedMatcher by_cut(re, analysis), by_runs(re, runs);
    for (int i = 0; i < 8 && !::testing::Test::HasFatalFailure(); ++i) {
      const std::string text = Text(*ast);
      const Matches expected = WholeBlob(re, text);
      tally->matches += expected.size();
      if (analysis.cut) CheckCut(by_cut, *analysis.cut, text, expected, tally);
      if (analysis.run) CheckRuns(by_runs, text, expected, tally);
    }
  }

 private:
  // Stretches where matches are likely, some with plain filler between them.
  std::string Text(const Ast& ast) {
    std::string text;
    for (uint64_t n = 1 + random_.Below(4); n > 0; --n) {
      text += random_.Text(ast, random_.Below(4) == 0 ? 20 : 120);
      if (random_.Below(2) == 0) text += std::string(random_.Below(150), "#z \n"[random_.Below(4)]);
    }
    return text;
  }

  // Everything an analysis may claim less of, now and then.
  void Loosen(Analysis* analysis) {
    auto looser = [&](uint64_t* reach) {
      if (random_.Below(3) == 0) *reach = AddWidth(*reach, random_.Below(20));
      if (random_.Below(12) == 0) *reach = kUnbounded;
    };
    if (analysis->cut) {
      looser(&analysis->cut->before);
      looser(&analysis->cut->after);
      if (random_.Below(3) == 0) analysis->cut->confirm.reset();
    }
    if (analysis->run) {
      looser(&analysis->run->before);
      looser(&analysis->run->after);
    }
    if (random_.Below(4) == 0) analysis->prefix.reset();
    if (random_.Below(2) == 0) analysis->first.reset();
    if (analysis->first && random_.Below(4) == 0) analysis->first->set(random_.Below(256));
  }

  void CheckCut(const WindowedMatcher& matcher, const Cut& cut, const std::string& text,
                const Matches& expected, Tally* tally) {
    std::vector<uint64_t> hits = HitsOf(cut, text);
    tally->refuted += !hits.empty() && expected.empty();
    // Hits that are none only make windows larger.
    for (uint64_t n = random_.Below(8) == 0 ? 3 : 0; n > 0 && !text.empty(); --n) {
      hits.push_back(random_.Below(text.size()));
    }
    std::sort(hits.begin(), hits.end());
    Matches matches;
    matcher.ForEachMatch(text, hits, Collect(text, &matches));
    ++tally->cases;
    tally->open += cut.before == kUnbounded || cut.after == kUnbounded;
    std::vector<Sighting> sightings;
    for (const uint64_t hit : hits) sightings.push_back({hit, hit});
    uint64_t covered = 0;
    for (const Window& w : WindowsOf(sightings, cut.before, cut.after, text.size())) {
      covered += w.end - w.begin;
    }
    tally->narrow += !expected.empty() && covered < text.size() / 2;
    ASSERT_EQ(matches, expected) << "cut, seed " << seed_ << ": " << pattern_ << " on " << text
                                 << " -" << cut.before << " +" << cut.after << " hits "
                                 << ::testing::PrintToString(hits) << " confirm "
                                 << (cut.confirm ? cut.confirm->pattern : "-");
  }

  void CheckRuns(const WindowedMatcher& matcher, const std::string& text, const Matches& expected,
                 Tally* tally) {
    Matches matches;
    matcher.ForEachMatchByRuns(text, Collect(text, &matches));
    ++tally->cases;
    ++tally->runs;
    ASSERT_EQ(matches, expected) << "runs, seed " << seed_ << ": " << pattern_ << " on " << text;
  }

  RandomRegex random_;
  uint64_t seed_;
  std::string pattern_;
};

// For twenty seconds, or $KEYSIEVE_REGEX_WINDOW_CASES cases.
TEST(Windows, GiveTheWholeBlobsMatchesForRandomRegexesTextsAndCuts) {
  const uint64_t wanted = EnvCount("KEYSIEVE_REGEX_WINDOW_CASES", 0);
  const auto stop = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  Tally tally;
  std::unique_ptr<Profile> profile;
  for (uint64_t seed = EnvCount("KEYSIEVE_REGEX_SEED", 1);; ++seed) {
    if (wanted != 0 ? tally.cases >= wanted : std::chrono::steady_clock::now() >= stop) break;
    if (profile == nullptr || seed % 200 == 0) {
      RandomRegex random(seed / 200);
      profile = std::make_unique<Profile>(RandomProfile(&random));
    }
    Differential(seed).Run(*profile, &tally);
    if (HasFatalFailure()) return;
  }
  std::printf(
      "%lu cases (%lu of runs), %lu matches; %lu without end, %lu under half, %lu refuted\n",
      tally.cases, tally.runs, tally.matches, tally.open, tally.narrow, tally.refuted);
  EXPECT_GT(tally.matches, tally.cases / 2);
  EXPECT_GT(tally.narrow, tally.cases / 20);
  EXPECT_GT(tally.open, tally.cases / 20);
  EXPECT_GT(tally.runs, tally.cases / 20);
}

}  // namespace
}  // namespace keysieve::detect::regex
