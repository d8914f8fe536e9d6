// SPDX-License-Identifier: MIT
// The profile ranks literals the way source text does.
#include "daemon/detect/regex/profile.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

namespace keysieve::detect::regex {
namespace {

double Rate(const std::string& bytes, bool ignore_case = false) {
  return Profile::Default().HitsPerMb({.bytes = bytes, .ignore_case = ignore_case});
}

TEST(Profile, RanksCommonWordsAboveRareOnes) {
  EXPECT_GT(Rate("return"), 100 * Rate("zqjxkv"));
  EXPECT_GT(Rate("key"), 10 * Rate("qzk"));
  EXPECT_GT(Rate("test"), Rate("TEST"));
  EXPECT_GT(Rate("the"), Rate("tHe"));
}

TEST(Profile, CountsEveryCaseOfALiteralThatIgnoresIt) {
  EXPECT_GE(Rate("akia", true), Rate("AKIA") + Rate("akia"));
  EXPECT_DOUBLE_EQ(Rate("1-_", true), Rate("1-_"));
}

TEST(Profile, GivesAPositiveFiniteRateToAnyBytes) {
  for (int c = 0; c < 256; ++c) {
    for (const size_t length : {1, 2, 3, 30, 255}) {
      const double rate = Rate(std::string(length, static_cast<char>(c)));
      EXPECT_GT(rate, 0) << c << " x " << length;
      EXPECT_TRUE(std::isfinite(rate)) << c << " x " << length;
    }
  }
}

TEST(Profile, KeepsRatesToWithinAQuarterOfABit) {
  for (double rate = 1; rate > 1e-9; rate *= 0.9) {
    EXPECT_NEAR(std::log2(DecodeRate(EncodeRate(rate)) / rate), 0, 0.2501);
  }
  EXPECT_EQ(EncodeRate(0), EncodeRate(1e-20));
}

}  // namespace
}  // namespace keysieve::detect::regex
