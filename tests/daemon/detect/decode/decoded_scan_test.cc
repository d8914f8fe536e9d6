// SPDX-License-Identifier: MIT
// What is found behind encodings: with which path, in which place, how deep, and at what cost.
#include "daemon/detect/decode/decoded_scan.h"

#include <random>
#include <string>

#include "gmock/gmock.h"
#include "tests/daemon/detect/decode/encoding_testing.h"
#include "tests/daemon/detect/detect_testing.h"

namespace keysieve::detect::decode {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

ScanOutcome Outcome(std::string_view text, uint32_t depth = 5, const std::string& toml = kPatRule) {
  const auto rules = Load(toml);
  return rules->ScanAll({"a.txt", text, ""}, NaiveHits(rules->literals(), text),
                        {.decode_depth = depth});
}

std::vector<Finding> ScanDeep(std::string_view text, uint32_t depth = 5,
                              const std::string& toml = kPatRule) {
  return Outcome(text, depth, toml).findings;
}

TEST(DecodedScan, FindsATokenBehindEachEncoding) {
  const std::vector<std::pair<std::string, std::string>> encoded = {
      {Percent(Pat(1)), "percent"},
      {Escapes(Pat(1)), "unicode"},
      {Hex(Pat(1)), "hex"},
      {Base64(Pat(1)), "base64"},
      {Base64("t=" + Pat(1), true, false), "base64"}};
  for (const auto& [text, name] : encoded) {
    const auto found = ScanDeep("first\nkey: " + text + "\n");
    ASSERT_THAT(found, SizeIs(1)) << name;
    EXPECT_EQ(found[0].secret, Pat(1));
    EXPECT_THAT(found[0].decode_path, ElementsAre(name));
    EXPECT_EQ(found[0].match_start, 11u);
    EXPECT_EQ(found[0].match_end, 11 + text.size());
    EXPECT_EQ(found[0].start_line, 2u);
    EXPECT_EQ(found[0].start_column, 6u);
    EXPECT_EQ(found[0].end_column, 5 + text.size());
    EXPECT_EQ(found[0].fingerprint, ScanDeep(Pat(1))[0].fingerprint);
  }
}

TEST(DecodedScan, UnwrapsNestedEncodingsAsDeepAsItMay) {
  std::string text = Pat(1);
  text = Base64(text);
  text = Percent(text);
  text = Hex(text);
  text = Base64(text, true);
  EXPECT_THAT(ScanDeep(text, 3), IsEmpty());
  for (uint32_t depth : {4u, 5u, 10u}) {
    const auto found = ScanDeep(text, depth);
    ASSERT_THAT(found, SizeIs(1)) << depth;
    EXPECT_THAT(found[0].decode_path, ElementsAre("base64", "hex", "percent", "base64"));
    EXPECT_EQ(found[0].match_start, 0u);
    EXPECT_EQ(found[0].match_end, text.size());
  }
  EXPECT_THAT(ScanDeep(text, 0), IsEmpty());
}

TEST(DecodedScan, MatchesAcrossTheEdgeOfAnEncodedStretch) {
  const std::string rule =
      "[[rules]]\nid = 'r'\nregex = '''secret=(decoded-value\\w*)'''\nkeywords = ['secret=']\n";
  const std::string text = "x secret=" + Base64("decoded-value123") + "; rest";
  const auto found = ScanDeep(text, 5, rule);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].match, "secret=decoded-value123");
  EXPECT_EQ(found[0].secret, "decoded-value123");
  EXPECT_EQ(found[0].match_start, 2u);
  EXPECT_EQ(found[0].secret_start, 9u);
  EXPECT_EQ(found[0].secret_end, text.size() - 6);
}

TEST(DecodedScan, FindsPlainTokensOnceHoweverMuchIsDecodedRoundThem) {
  const std::string text = "%20 " + Pat(1) + " %20 " + Base64("sixteen bytes 16") + " " + Pat(2);
  const auto found = ScanDeep(text);
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_THAT(found[0].decode_path, IsEmpty());
  EXPECT_THAT(found[1].decode_path, IsEmpty());
}

TEST(DecodedScan, AKeywordAnywhereInTheDecodedTextOpensTheGate) {
  const std::string rule =
      "[[rules]]\nid = 'r'\nregex = '''\\b[a-f]{8}-[0-9]{20}\\b'''\nkeywords = ['heroic']\n";
  const std::string secret = "abcdefab-01234567890123456789";
  EXPECT_THAT(ScanDeep(Base64(secret), 5, rule), IsEmpty());
  EXPECT_THAT(ScanDeep("heroic " + Base64(secret), 5, rule), SizeIs(1));
  EXPECT_THAT(ScanDeep(secret + " " + Base64("a heroic deed 42"), 5, rule), IsEmpty())
      << "a plain match is no decoded one";
  EXPECT_THAT(ScanDeep(Base64(secret) + " " + Base64("a heroic deed 42"), 5, rule), SizeIs(1));
}

TEST(DecodedScan, AnAllowCommentOnTheLineSuppresses) {
  const std::string pem = "-----BEGIN X PRIVATE" + std::string(" KEY-----\n") +
                          std::string(70, 'k') + "\n-----END X PRIVATE" + " KEY-----\n";
  const std::string rule =
      "[[rules]]\nid = 'k'\nregex = '''-----BEGIN X PRIVATE KEY[\\s\\S]*?END X'''\n"
      "keywords = ['begin']\n";
  const auto found = ScanDeep("k: " + Base64(pem) + "  # gitleaks:allow\n", 5, rule);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].suppressed_by, "gitleaks:allow");
  EXPECT_EQ(found[0].end_line, 1u);
}

TEST(DecodedScan, ReadsUtf16InEitherOrderWithAMarkOrWithout) {
  for (bool little : {true, false}) {
    for (bool mark : {true, false}) {
      const std::string bom = !mark ? "" : little ? "\xFF\xFE" : "\xFE\xFF";
      const std::string text = bom + Utf16("one line\nkey = " + Pat(1) + "\r\nlast\n", little);
      for (uint32_t depth : {0u, 5u}) {
        const ScanOutcome outcome = Outcome(text, depth);
        ASSERT_THAT(outcome.findings, SizeIs(1));
        EXPECT_THAT(outcome.uncovered, IsEmpty());
        const Finding& found = outcome.findings[0];
        EXPECT_EQ(found.secret, Pat(1));
        EXPECT_EQ(found.start_line, 2u);
        EXPECT_EQ(found.start_column, 13u);
        EXPECT_EQ(found.end_column, 92u);
        EXPECT_EQ(found.match_start, bom.size() + 2 * 15);
        EXPECT_EQ(found.match_end, bom.size() + 2 * 55);
        EXPECT_THAT(found.decode_path, ElementsAre(little ? "utf-16le" : "utf-16be"));
      }
    }
  }
}

TEST(DecodedScan, DecodesInsideUtf16) {
  const std::string text = std::string("\xFF\xFE") + Utf16("k: " + Base64(Pat(1)) + "\n", true);
  EXPECT_THAT(ScanDeep(text, 0), IsEmpty());
  const auto found = ScanDeep(text);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_THAT(found[0].decode_path, ElementsAre("utf-16le", "base64"));
  EXPECT_EQ(found[0].match_start, 8u);
  EXPECT_EQ(found[0].match_end, 8 + 2 * Base64(Pat(1)).size());
}

TEST(DecodedScan, NamesWhatIsNoUtf16) {
  const std::string text = std::string("\xFF\xFE") + Utf16(Pat(1) + "\n", true);
  const ScanOutcome odd = Outcome(text + "x");
  EXPECT_THAT(odd.findings, SizeIs(1));
  ASSERT_THAT(odd.uncovered, SizeIs(1));
  EXPECT_EQ(odd.uncovered[0].reason, Uncovered::Reason::kUndecodable);
  EXPECT_EQ(odd.uncovered[0].start, text.size());
  EXPECT_EQ(odd.uncovered[0].end, text.size() + 1);
  EXPECT_THAT(Outcome(std::string("\xFF\xFE\0\0a\0\0\0", 8)).uncovered, SizeIs(1));
}

TEST(DecodedScan, RulesOnPathsFireOnce) {
  const auto found = ScanDeep(Base64("sixteen bytes 16"), 5, "[[rules]]\nid = 'p'\npath = 'a'\n");
  EXPECT_THAT(found, SizeIs(1));
}

TEST(DecodedScan, OneEndlessLineOfEncodedTokens) {
  std::string text;
  for (int i = 0; i < 8000; ++i) text += "%41 " + std::string(980, ' ') + Base64(Pat(i));
  const auto found = ScanDeep(text);
  ASSERT_THAT(found, SizeIs(8000));
  for (const Finding& finding : found) {
    ASSERT_EQ(finding.start_line, 1u);
    ASSERT_THAT(finding.decode_path, ElementsAre("base64"));
  }
}

// Every layer is smaller than the one before it, so that depth times the blob bounds it all.
TEST(DecodedScan, HostileNestingStaysBounded) {
  std::string text;
  for (int i = 0; i < 20000; ++i) text += Pat(1).substr(0, 6) + "," + std::to_string(i) + " ";
  for (int layer = 0; layer < 6; ++layer) {
    text = layer % 2 == 0 ? Base64(text) : Percent(text);
    if (text.size() > 8300000) text.resize(8300000);
  }
  for (uint32_t depth : {5u, 10u}) EXPECT_THAT(ScanDeep(text, depth), IsEmpty());
  std::string percent = "41";
  for (int i = 0; i < 2700000; ++i) percent += "25";
  EXPECT_THAT(ScanDeep("%" + percent, 10), IsEmpty());
  std::string words;
  while (words.size() < 8300000) words += Base64("key=" + std::to_string(words.size())) + "%41%25";
  EXPECT_THAT(ScanDeep(words, 5), IsEmpty());
}

}  // namespace
}  // namespace keysieve::detect::decode
