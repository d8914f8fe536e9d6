// SPDX-License-Identifier: MIT
// A decoded text, the way back from it, and its literal hits, each against the plainest way to get
// the same.
#include "daemon/detect/decode/layer.h"

#include <random>
#include <string>

#include "daemon/detect/decode/decoded_scan.h"
#include "gmock/gmock.h"
#include "tests/daemon/detect/decode/encoding_testing.h"
#include "tests/daemon/detect/detect_testing.h"

namespace keysieve::detect::decode {
namespace {

using ::testing::SizeIs;

std::string Decoded(std::string_view text) {
  const auto layer = DecodeLayer(text);
  return layer ? std::string(layer->text()) : std::string(text);
}

TEST(Layer, ReplacesStretchesWhereTheyStand) {
  EXPECT_EQ(Decoded("a " + Base64("sixteen bytes 16") + " b"), "a sixteen bytes 16 b");
  EXPECT_EQ(Decoded("k=" + Base64("test-secret-value") + "&x"), "k=test-secret-value&x");
  EXPECT_EQ(Decoded("secret%3D%22q%24%21%22 rest"), "secret=\"q$!\" rest");
  EXPECT_EQ(Decoded("h " + Hex("0123456789abcdef")), "h 0123456789abcdef");
  EXPECT_EQ(Decoded("e=" + Escapes("hello") + "!"), "e=hello!");
  EXPECT_EQ(Decoded("s=U+0061 U+0062 end"), "s=ab end");
}

TEST(Layer, LeavesAloneWhatDoesNotDecode) {
  EXPECT_FALSE(DecodeLayer(""));
  EXPECT_FALSE(DecodeLayer("nothing encoded here at all"));
  EXPECT_FALSE(DecodeLayer("%00%ff 100%"));
  EXPECT_FALSE(DecodeLayer("a3d3fa7c2bb99e469ba55e5834ce79ee4853a8a3"));
  EXPECT_FALSE(DecodeLayer("ALongIdentifierWithoutDigits"));
}

TEST(Layer, WaitsWhereALowerEncodingTouchesAHigherOne) {
  std::string padded = Base64("sixteen bytes!!!");  // ends in ==
  padded.replace(padded.size() - 2, 2, "%3D%3D");
  EXPECT_EQ(Decoded(padded), padded.substr(0, padded.size() - 6) + "==");
  EXPECT_EQ(Decoded(Decoded(padded)), "sixteen bytes!!!");
}

TEST(Layer, FindsTheWayBack) {
  const std::string text = "one " + Base64("sixteen bytes 16") + " two %41%42 three";
  const auto layer = DecodeLayer(text);
  ASSERT_TRUE(layer);
  ASSERT_EQ(layer->text(), "one sixteen bytes 16 two AB three");
  ASSERT_THAT(layer->segments(), SizeIs(2));
  const auto back = [&](std::string_view inner) {
    const size_t at = layer->text().find(inner);
    const Range outer = layer->ToOuter({at, at + inner.size()});
    return text.substr(outer.start, outer.end - outer.start);
  };
  EXPECT_EQ(back("one"), "one");
  EXPECT_EQ(back("three"), "three");
  EXPECT_EQ(back("bytes"), Base64("sixteen bytes 16")) << "a segment counts whole";
  EXPECT_EQ(back("e sixteen"), "e " + Base64("sixteen bytes 16"));
  EXPECT_EQ(back("16 two A"), Base64("sixteen bytes 16") + " two %41%42");
  EXPECT_EQ(back(" two "), " two ");
  EXPECT_TRUE(layer->TouchesAny({4, 5}));
  EXPECT_FALSE(layer->TouchesAny({0, 4}));
}

TEST(Layer, HasTheHitsOfItsText) {
  const std::vector<megakernel::Literal> literals = {{"ab", true}, {"abcab", true},
                                                     {"b", true},  {"AbC", false},
                                                     {"c%", true}, {"bcabcabcabcabc", true}};
  const LiteralFinder finder(literals);
  std::mt19937_64 random(3);
  int layers = 0;
  for (int round = 0; round < 4000; ++round) {
    std::string text;
    for (size_t n = random() % 6; n > 0; --n) {
      const std::string plain = RandomText("abcABC%= ", random() % 12, &random);
      const std::string inside = RandomText("abcABC% ", 12 + random() % 12, &random);
      const uint64_t kind = random() % 5;
      text += plain;
      text += kind == 0   ? Base64(inside)
              : kind == 1 ? Hex(inside + "1234")
              : kind == 2 ? Percent(inside)
              : kind == 3 ? Escapes(inside)
                          : inside;
    }
    const auto layer = DecodeLayer(text);
    if (!layer) continue;
    ++layers;
    ASSERT_LE(layer->text().size(), text.size());
    ASSERT_EQ(HitsOfLayer(*layer, finder, NaiveHits(literals, text)),
              NaiveHits(literals, layer->text()))
        << text;
  }
  EXPECT_GT(layers, 2000);
}

TEST(Layer, StopsAtTheLimitAndSaysWhere) {
  std::string text;
  for (int i = 0; i < 10; ++i) text += "\\u0041 and then a word\n";
  const auto layer = DecodeLayer(text, 4);
  ASSERT_TRUE(layer);
  EXPECT_THAT(layer->segments(), SizeIs(4));
  EXPECT_EQ(layer->stopped_at(), text.size() / 10 * 4);
  EXPECT_TRUE(layer->text().ends_with("\\u0041 and then a word\n"));
  EXPECT_FALSE(DecodeLayer(text, 10)->stopped_at());
}

}  // namespace
}  // namespace keysieve::detect::decode
