// SPDX-License-Identifier: MIT
// UTF-16 recognised, read and mapped back, byte by byte.
#include "daemon/detect/decode/utf16.h"

#include <random>
#include <string>
#include <vector>

#include "daemon/detect/decode/decoders.h"
#include "gtest/gtest.h"
#include "tests/daemon/detect/decode/encoding_testing.h"

namespace keysieve::detect::decode {
namespace {

std::string Units(const std::vector<uint32_t>& units, bool little) {
  std::string out;
  for (uint32_t unit : units) {
    const char high = static_cast<char>(unit >> 8);
    const char low = static_cast<char>(unit & 0xFF);
    out += little ? low : high;
    out += little ? high : low;
  }
  return out;
}

TEST(DetectUtf16, GoesByTheMarkAndElseByTheLook) {
  EXPECT_EQ(DetectUtf16("\xFF\xFE"), ByteOrder::kLittle);
  EXPECT_EQ(DetectUtf16("\xFE\xFFx"), ByteOrder::kBig);
  EXPECT_EQ(DetectUtf16(Utf16("plain text here", true)), ByteOrder::kLittle);
  EXPECT_EQ(DetectUtf16(Utf16("plain text here", false)), ByteOrder::kBig);
  EXPECT_EQ(DetectUtf16("plain text here"), std::nullopt);
  EXPECT_EQ(DetectUtf16(""), std::nullopt);
  EXPECT_EQ(DetectUtf16(std::string(64, '\0')), std::nullopt);
  EXPECT_EQ(DetectUtf16(Utf16("text", true) + std::string(64, '\0')), std::nullopt);
  EXPECT_EQ(DetectUtf16(std::string("\xFF\xFE\0\0", 4)), std::nullopt);
  EXPECT_TRUE(IsUtf32(std::string("\xFF\xFE\0\0", 4)));
}

TEST(Utf16Text, MapsEveryByteBack) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 300; ++round) {
    const bool little = random() % 2 == 0;
    std::vector<uint32_t> units;
    std::string utf8;
    std::vector<uint64_t> origin;  // of every byte of utf8
    for (size_t n = random() % 200; n > 0; --n) {
      const uint64_t start = units.size() * 2;
      uint32_t c = 0;
      switch (random() % 4) {
        case 0:
          c = 0x20 + random() % 0x5F;
          break;
        case 1:
          c = 0xA0 + random() % 0x700;
          break;
        case 2:
          c = 0x3000 + random() % 0x4000;
          break;
        default:
          c = 0x10000 + random() % 0x10000;
      }
      if (c < 0x10000) {
        units.push_back(c);
      } else {
        units.push_back(0xD800 + ((c - 0x10000) >> 10));
        units.push_back(0xDC00 + (c & 0x3FF));
      }
      AppendUtf8(c, &utf8);
      while (origin.size() < utf8.size()) origin.push_back(start);
    }
    const std::string bytes = Units(units, little);
    const Utf16Text text = DecodeUtf16(bytes, little ? ByteOrder::kLittle : ByteOrder::kBig);
    ASSERT_EQ(text.text(), utf8);
    ASSERT_FALSE(text.broken());
    for (size_t i = 0; i < utf8.size(); ++i) ASSERT_EQ(text.ToBlob(i), origin[i]) << i;
    ASSERT_EQ(text.ToBlob(utf8.size()), bytes.size());
  }
}

TEST(Utf16Text, LeavesTheMarkOutAndMapsPastIt) {
  const Utf16Text text =
      DecodeUtf16(std::string("\xFF\xFE") + Utf16("abc", true), ByteOrder::kLittle);
  EXPECT_EQ(text.text(), "abc");
  const Range range = text.ToBlob(Range{1, 3});
  EXPECT_EQ(range.start, 4u);
  EXPECT_EQ(range.end, 8u);
}

TEST(Utf16Text, NamesTheBytesThatAreNoCharacters) {
  const std::string bytes = Units({'a', 0xD800, 'b', 0xDC00, 'c'}, true) + "x";
  const Utf16Text text = DecodeUtf16(bytes, ByteOrder::kLittle);
  EXPECT_EQ(text.text(),
            "a\xEF\xBF\xBD"
            "b\xEF\xBF\xBD"
            "c\xEF\xBF\xBD");
  ASSERT_TRUE(text.broken());
  EXPECT_EQ(text.broken()->start, 2u);
  EXPECT_EQ(text.broken()->end, 11u);
}

}  // namespace
}  // namespace keysieve::detect::decode
