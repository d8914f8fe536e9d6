// SPDX-License-Identifier: MIT
// Widths by hand, and as bounds that no RE2 match may break.
#include "daemon/detect/regex/widths.h"

#include <gtest/gtest.h>
#include <re2/re2.h>

#include "daemon/detect/regex/parse.h"
#include "evidence/base/status.h"
#include "tests/daemon/regex/random_regex.h"

namespace keysieve::detect::regex {
namespace {

Widths WidthsOf(const std::string& pattern) {
  const auto ast = ParseRegex(pattern);
  EXPECT_TRUE(ast.ok()) << Message(ast.status());
  return ComputeWidths(*ast)[ast->root];
}

TEST(Widths, CountBytesOfEachShape) {
  EXPECT_EQ(WidthsOf("abc"), (Widths{3, 3}));
  EXPECT_EQ(WidthsOf("a|bcd|"), (Widths{0, 3}));
  EXPECT_EQ(WidthsOf("a{2,5}[bc]"), (Widths{3, 6}));
  EXPECT_EQ(WidthsOf("(?:ab){3}c?"), (Widths{6, 7}));
  EXPECT_EQ(WidthsOf("a+"), (Widths{1, kUnbounded}));
  EXPECT_EQ(WidthsOf("^\\b$"), (Widths{0, 0}));
  EXPECT_EQ(WidthsOf("(?:^)*a"), (Widths{1, 1}));
  EXPECT_EQ(WidthsOf(""), (Widths{0, 0}));
}

TEST(Widths, SaturateInsteadOfWrapping) {
  std::string pattern = "a";
  for (int i = 0; i < 8; ++i) pattern = "(?:" + pattern + "){1000}";
  EXPECT_EQ(WidthsOf(pattern), (Widths{kUnbounded - 1, kUnbounded}));
  EXPECT_EQ(MultiplyWidth(kUnbounded, 0), 0u);
  EXPECT_EQ(AddWidth(kUnbounded, 1), kUnbounded);
}

TEST(Widths, BoundEveryRe2Match) {
  uint64_t checked = 0;
  for (uint64_t seed = 1; seed <= 3000; ++seed) {
    RandomRegex random(seed);
    const std::string pattern = random.Pattern();
    RE2::Options options(RE2::Latin1);
    options.set_log_errors(false);
    const RE2 re(pattern, options);
    const auto ast = ParseRegex(pattern);
    if (!re.ok() || !ast.ok()) continue;
    const Widths widths = ComputeWidths(*ast)[ast->root];
    const std::string text = random.Text(*ast, 60);
    re2::StringPiece group;
    if (!re.Match(text, 0, text.size(), RE2::UNANCHORED, &group, 1)) continue;
    ++checked;
    ASSERT_GE(group.size(), widths.min) << pattern;
    ASSERT_LE(group.size(), widths.max) << pattern;
  }
  EXPECT_GT(checked, 500u);
}

}  // namespace
}  // namespace keysieve::detect::regex
