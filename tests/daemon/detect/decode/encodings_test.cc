// SPDX-License-Identifier: MIT
// The finder of encoded stretches against a regex that says what they are, on random texts made of
// the pieces where it could go wrong.
#include "daemon/detect/decode/encodings.h"

#include <re2/re2.h>

#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/daemon/detect/decode/encoding_testing.h"

namespace keysieve::detect::decode {
namespace {

std::string Show(const Stretch& s) {
  return std::string(ToString(s.encoding)) + "[" + std::to_string(s.start) + "," +
         std::to_string(s.end) + ")";
}

std::vector<std::string> Found(std::string_view text) {
  std::vector<std::string> found;
  StretchFinder finder(text);
  for (Stretch s; finder.Next(&s);) found.push_back(Show(s));
  return found;
}

std::vector<std::string> Oracle(std::string_view text) {
  static const re2::RE2 kAny(
      "(%[0-9A-Fa-f]{2}(?:.*%[0-9A-Fa-f]{2})?)|"
      "((?:U\\+[0-9A-Fa-f]{4}(?:[\\t\\n\\f\\r ]|$))+|(?:\\\\{1,2}[uU][0-9A-Fa-f]{4})+)|"
      "([0-9A-Fa-f]{32,})|([A-Za-z0-9_/+-]{16,}={0,2})",
      re2::RE2::Latin1);
  std::vector<Stretch> all;
  re2::StringPiece groups[5];
  const re2::StringPiece whole(text.data(), text.size());
  for (size_t at = 0; kAny.Match(whole, at, text.size(), re2::RE2::UNANCHORED, groups, 5);) {
    Stretch s;
    s.start = groups[0].data() - text.data();
    s.end = s.start + groups[0].size();
    for (int i = 1; i < 5; ++i) {
      if (groups[i].data() != nullptr) s.encoding = static_cast<Encoding>(i - 1);
    }
    const bool points = s.encoding == Encoding::kUnicode && text[s.start] == 'U';
    if (points && std::string_view("\t\n\f\r ").find(text[s.end - 1]) != std::string_view::npos) {
      --s.end;  // the white space after it is no part of it
    }
    all.push_back(s);
    at = s.end;
  }
  std::vector<std::string> kept;
  for (size_t i = 0; i < all.size(); ++i) {
    const bool before =
        i > 0 && all[i - 1].end == all[i].start && all[i - 1].encoding < all[i].encoding;
    const bool after = i + 1 < all.size() && all[i].end == all[i + 1].start &&
                       all[i + 1].encoding < all[i].encoding;
    if (!before && !after) kept.push_back(Show(all[i]));
  }
  return kept;
}

TEST(StretchFinder, FindsWhatTheRegexFinds) {
  const std::vector<std::string> pieces = {"%41",
                                           "%4",
                                           "%",
                                           "%zz",
                                           "\\u0041",
                                           "\\\\u00E9",
                                           "\\",
                                           "\\\\\\u12",
                                           "U+0041",
                                           "U+00",
                                           " ",
                                           "\n",
                                           "=",
                                           "==",
                                           "===",
                                           "abcdef01",
                                           "0123456789abcdef",
                                           "ABCDEF0123456789abcdef0123456789",
                                           "hello",
                                           "_",
                                           "-/+",
                                           "x",
                                           std::string(1, '\0'),
                                           "\xE9",
                                           "u",
                                           "U"};
  std::mt19937_64 random(20261201);
  for (int round = 0; round < 30000; ++round) {
    std::string text;
    for (size_t n = random() % 14; n > 0; --n) text += pieces[random() % pieces.size()];
    ASSERT_EQ(Found(text), Oracle(text)) << text;
  }
}

TEST(StretchFinder, FindsRunsWhereverTheyBegin) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 20000; ++round) {
    const std::string text = RandomText("aaaaaaaaaa0 ", 20 + random() % 90, &random);
    ASSERT_EQ(Found(text), Oracle(text)) << text;
  }
}

TEST(StretchFinder, FindsNothingInNothing) {
  EXPECT_TRUE(Found("").empty());
  EXPECT_TRUE(Found("%").empty());
  EXPECT_TRUE(Found("U+").empty());
  EXPECT_TRUE(Found("\\u").empty());
}

}  // namespace
}  // namespace keysieve::detect::decode
