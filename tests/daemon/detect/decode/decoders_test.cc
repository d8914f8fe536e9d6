// SPDX-License-Identifier: MIT
// Decoders against encoders written apart, and what they must refuse.
#include "daemon/detect/decode/decoders.h"

#include <random>
#include <string>

#include "gtest/gtest.h"
#include "tests/daemon/detect/decode/encoding_testing.h"

namespace keysieve::detect::decode {
namespace {

std::string Printable() {
  std::string all;
  for (int c = 9; c < 127; ++c) all += static_cast<char>(c);
  return all;
}

TEST(DecodeBase64, UndoesBothAlphabetsPaddedOrNot) {
  std::mt19937_64 random(1);
  int decoded = 0;
  for (int round = 0; round < 4000; ++round) {
    const std::string text = RandomText(Printable(), 12 + random() % 40, &random);
    for (bool url : {false, true}) {
      for (bool pad : {false, true}) {
        const std::string encoded = Base64(text, url, pad);
        std::string out;
        if (!DecodeBase64(encoded, &out)) {
          // Only what is letters throughout is taken for a word.
          ASSERT_EQ(encoded.find_first_of("0123456789+/-_"), std::string::npos) << encoded;
          continue;
        }
        ASSERT_EQ(out, text);
        ++decoded;
      }
    }
  }
  EXPECT_GT(decoded, 15000);
}

TEST(DecodeBase64, RefusesWhatIsNoText) {
  std::string out;
  EXPECT_FALSE(DecodeBase64(Base64("0123456789\x01"), &out));
  EXPECT_FALSE(DecodeBase64(Base64("0123456789\x80"), &out));
  EXPECT_FALSE(DecodeBase64("a-b+c/d_e1f2g3h4", &out)) << "two alphabets in one";
  EXPECT_FALSE(DecodeBase64("abcdefghijklmnop=", &out)) << "the wrong padding";
  EXPECT_FALSE(DecodeBase64("NDQ0NDQ0NDQ0NDQ0N", &out)) << "one character too many";
  EXPECT_FALSE(DecodeBase64("====", &out));
  EXPECT_FALSE(DecodeBase64("", &out));
}

TEST(DecodeHex, UndoesEitherCaseAndRefusesTheRest) {
  const std::string text = "The quick brown fox: 0123456789\t\n~";
  std::string out;
  ASSERT_TRUE(DecodeHex(Hex(text), &out));
  EXPECT_EQ(out, text);
  ASSERT_TRUE(DecodeHex(Hex(text, "%02X"), &out));
  EXPECT_EQ(out, text);
  EXPECT_FALSE(DecodeHex(Hex(text) + "4", &out)) << "half a byte";
  EXPECT_FALSE(DecodeHex(Hex("text\x7f"), &out));
  EXPECT_FALSE(DecodeHex("abcdefabcdef", &out)) << "no digit, no text";
}

TEST(DecodeUnicode, ReadsEscapesAndCodePoints) {
  std::string out;
  ASSERT_TRUE(DecodeUnicode("\\u0061\\u0062\\\\u0063\\U0064", &out));
  EXPECT_EQ(out, "abcd");
  ASSERT_TRUE(DecodeUnicode("U+0061 U+00e9\nU+20AC", &out));
  EXPECT_EQ(out, "a\xC3\xA9\xE2\x82\xAC");
  ASSERT_TRUE(DecodeUnicode("\\ud83d\\ude00\\u0021", &out));
  EXPECT_EQ(out, "\xF0\x9F\x98\x80!");
  ASSERT_TRUE(DecodeUnicode("\\ud83d\\u0041\\ude00", &out));
  EXPECT_EQ(out,
            "\xEF\xBF\xBD"
            "A"
            "\xEF\xBF\xBD");
}

TEST(DecodePercent, TakesOneEscapeOfAPrintableByte) {
  EXPECT_EQ(DecodePercent("%41rest"), 'A');
  EXPECT_EQ(DecodePercent("%0a"), '\n');
  EXPECT_EQ(DecodePercent("%00"), -1);
  EXPECT_EQ(DecodePercent("%7f"), -1);
  EXPECT_EQ(DecodePercent("%e9"), -1);
  EXPECT_EQ(DecodePercent("%4"), -1);
  EXPECT_EQ(DecodePercent("41"), -1);
}

}  // namespace
}  // namespace keysieve::detect::decode
