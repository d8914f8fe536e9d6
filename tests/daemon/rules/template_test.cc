// SPDX-License-Identifier: MIT
// Templates: exact text where nothing is random, exact lengths and classes where something is.
#include "tests/daemon/rules/template.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace keysieve::rules_testing {
namespace {

TEST(Template, LiteralTextAndForeignBracesStay) {
  std::string error;
  const auto out = Expand(R"({"a": "{b}", c{|}d, {"e":7}})", 1, &error);
  ASSERT_TRUE(out) << error;
  EXPECT_EQ(out->text, R"({"a": "{b}", cd, {"e":7}})");
  EXPECT_FALSE(out->has_secret);
}

TEST(Template, MarksTheSecret) {
  std::string error;
  const auto out = Expand("key={<}ab{|}cd{fill:x:3}{>};", 1, &error);
  ASSERT_TRUE(out) << error;
  EXPECT_EQ(out->text, "key=abcdxxx;");
  EXPECT_TRUE(out->has_secret);
  EXPECT_EQ(out->secret(), "abcdxxx");
}

TEST(Template, ASecretMayStartTheText) {
  std::string error;
  const auto out = Expand("{<}ab{>}", 1, &error);
  ASSERT_TRUE(out) << error;
  EXPECT_TRUE(out->has_secret);
  EXPECT_EQ(out->secret(), "ab");
}

TEST(Template, DrawsEveryCharacterBeforeAnyRepeats) {
  std::string error;
  const auto out = Expand("{hex:16}", 7, &error);
  ASSERT_TRUE(out) << error;
  EXPECT_EQ(std::set<char>(out->text.begin(), out->text.end()).size(), 16u);
  const auto longer = Expand("{digits:25}", 7, &error);
  ASSERT_TRUE(longer) << error;
  EXPECT_EQ(longer->text.size(), 25u);
  for (const char digit : std::string("0123456789")) {
    const auto count = std::count(longer->text.begin(), longer->text.end(), digit);
    EXPECT_GE(count, 2) << digit;
    EXPECT_LE(count, 3) << digit;
  }
}

TEST(Template, SameSeedSameTextOtherSeedOtherText) {
  std::string error;
  EXPECT_EQ(Expand("{alnum:40}", 3, &error)->text, Expand("{alnum:40}", 3, &error)->text);
  EXPECT_NE(Expand("{alnum:40}", 3, &error)->text, Expand("{alnum:40}", 4, &error)->text);
  EXPECT_NE(Seed("a", 0), Seed("b", 0));
  EXPECT_NE(Seed("a", 0), Seed("a", 1));
}

TEST(Template, RefusesUnknownClassesAndLooseMarkers) {
  std::string error;
  EXPECT_FALSE(Expand("{nosuch:4}", 1, &error));
  EXPECT_NE(error.find("nosuch"), std::string::npos);
  EXPECT_FALSE(Expand("a{>}", 1, &error));
  EXPECT_FALSE(Expand("a{<}b", 1, &error));
  EXPECT_FALSE(Expand("a{<}b{>}c{<}d{>}", 1, &error));
}

}  // namespace
}  // namespace keysieve::rules_testing
