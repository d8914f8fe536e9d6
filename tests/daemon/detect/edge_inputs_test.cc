// SPDX-License-Identifier: MIT
// Inputs that other scanners got wrong: many tokens, tokens across cuts, endless lines, odd bytes.
// The expected numbers are counted from how each input is made.
#include "daemon/detect/redact.h"
#include "daemon/detect/rule_set.h"
#include "gmock/gmock.h"
#include "tests/daemon/detect/detect_testing.h"

namespace keysieve::detect {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

std::string PemRule() {
  return std::string(kPatRule) +
         "[[rules]]\nid = 'private-key'\nkeywords = ['-----begin']\n"
         "regex = '''-----BEGIN[ A-Z]{0,100}PRIVATE KEY-----[\\s\\S-]{64,}?KEY-----'''\n";
}

std::vector<Finding> ScanPats(std::string_view text) { return ScanText(*Load(kPatRule), text); }

TEST(EdgeInputs, SixThousandTokensGiveSixThousandFindings) {
  std::string text;
  for (int i = 0; i < 6000; ++i) text += Pat(i) + "\n";
  const auto found = ScanPats(text);
  ASSERT_THAT(found, SizeIs(6000));
  std::set<std::string> names;
  for (size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].start_line, i + 1);
    EXPECT_EQ(found[i].secret, Pat(i));
    names.insert(found[i].fingerprint);
  }
  EXPECT_THAT(names, SizeIs(6000));
}

TEST(EdgeInputs, ATokenAcrossAnyByteIsFound) {
  std::string text;
  while (text.size() < 125000 - 20) text += "no blank line here\n";
  text.resize(125000 - 20, '.');
  text += "\n" + Pat(7) + "\n";
  const auto found = ScanPats(text);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_LT(found[0].match_start, 125000u);
  EXPECT_GT(found[0].match_end, 125000u);
}

TEST(EdgeInputs, OneLineOfEightThousandTokens) {
  std::string text;
  for (int i = 0; i < 8000; ++i) text += std::string(1010, ' ') + Pat(i);
  const auto rules = Load(std::string(kPatRule) +
                          "[[rules.allowlists]]\nregexTarget = 'line'\nregexes = ['qqq$']\n");
  const auto hits = NaiveHits(rules->literals(), text);
  for (int run = 0; run < 2; ++run) {
    const auto found = rules->Scan({"p", text, ""}, hits);
    ASSERT_THAT(found, SizeIs(8000));
    for (size_t i = 0; i < found.size(); ++i) {
      ASSERT_EQ(found[i].start_line, 1u);
      ASSERT_EQ(found[i].start_column, i * 1050 + 1011);
    }
  }
}

TEST(EdgeInputs, ALongPrivateKeyIsOneFinding) {
  std::string text = "-----BEGIN RSA PRIVATE" + std::string(" KEY-----\n");
  for (int i = 0; i < 2500; ++i) text += std::string(63, static_cast<char>('a' + i % 26)) + "\n";
  text += "-----END RSA PRIVATE" + std::string(" KEY-----\n");
  const auto found = ScanText(*Load(PemRule()), text);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].match.size(), text.size() - 1);
  EXPECT_EQ(found[0].end_line, 2502u);
}

TEST(EdgeInputs, ColumnsCountBytesFromOne) {
  auto found = ScanPats(std::string(150000, '.') + Pat(1));
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].start_column, 150001u);
  EXPECT_EQ(found[0].end_column, 150040u);
  found = ScanPats("first\n" + std::string(9, ' ') + Pat(1) + "\n");
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].start_line, 2u);
  EXPECT_EQ(found[0].start_column, 10u);
  EXPECT_EQ(found[0].end_column, 49u);
}

TEST(EdgeInputs, CharactersThatGrowWhenLoweredMoveNothing) {
  std::string text;
  for (int i = 0; i < 20000; ++i) text += "\xC4\xB0";  // U+0130
  const auto found = ScanPats(text + Pat(1));
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].start_column, 40001u);
  EXPECT_EQ(found[0].start_line, 1u);
}

// Our choice, documented in docs/rules.md: letters fold in ASCII only.
TEST(EdgeInputs, KelvinAndLongSAreNoLettersOfOurs) {
  const auto rules = Load(
      "[[rules]]\nid = 'a'\nregex = '''(?i)task=(\\w+)'''\nkeywords = ['task']\n"
      "[[rules]]\nid = 'b'\nregex = '''(?i)tas\\S+=(\\w+)'''\nkeywords = ['task']\n");
  EXPECT_THAT(ScanText(*rules, "tas\xE2\x84\xAA=abc"), IsEmpty());  // U+212A
  EXPECT_THAT(ScanText(*rules, "ta\xC5\xBFk=abc"), IsEmpty());      // U+017F
  EXPECT_THAT(ScanText(*rules, "TASK=abc"), SizeIs(2));
}

TEST(EdgeInputs, ASwappedSecretHasAnotherFingerprintAndAMovedOneTheSame) {
  const auto before = ScanPats("a\nkey: " + Pat(1) + "\n");
  const auto swapped = ScanPats("a\nkey: " + Pat(2) + "\n");
  const auto moved = ScanPats("a\nb\nc\n  key:  " + Pat(1) + "\n");
  ASSERT_THAT(before, SizeIs(1));
  ASSERT_THAT(swapped, SizeIs(1));
  ASSERT_THAT(moved, SizeIs(1));
  EXPECT_NE(before[0].fingerprint, swapped[0].fingerprint);
  EXPECT_EQ(before[0].fingerprint, moved[0].fingerprint);
}

TEST(EdgeInputs, TwoTokensOnALineAreTwoFindingsWithTwoFingerprints) {
  const auto found = ScanPats(Pat(1) + " " + Pat(2));
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_NE(found[0].fingerprint, found[1].fingerprint);
}

TEST(EdgeInputs, RedactionLeavesNoSecretByteAndNoFindingOut) {
  const auto rules =
      Load(std::string(kPatRule) + "[[rules]]\nid = 'b'\nregex = '''pair=(\\w+),\\w+'''\n");
  const std::string text = "pair=" + Pat(1) + "," + Pat(2);
  const auto plain = ScanText(*rules, text);
  auto redacted = plain;
  RedactFindings(redacted);
  ASSERT_THAT(plain, SizeIs(3));
  ASSERT_EQ(redacted.size(), plain.size());
  for (const Finding& finding : redacted) {
    for (int seed : {1, 2}) {
      for (size_t at = 0; at + 4 <= Pat(seed).size(); ++at) {
        EXPECT_THAT(finding.match, Not(HasSubstr(Pat(seed).substr(at, 4))));
        EXPECT_THAT(finding.secret, Not(HasSubstr(Pat(seed).substr(at, 4))));
      }
    }
  }
  EXPECT_EQ(redacted[0].match, "pair=REDACTED,REDACTED");
}

TEST(EdgeInputs, NothingIsGluedAcrossANul) {
  std::string cut = Pat(1);
  cut.insert(20, 1, '\0');
  EXPECT_THAT(ScanPats(cut), IsEmpty());
  const auto found = ScanPats(std::string(3, '\0') + Pat(1) + std::string(1, '\0'));
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].start_column, 4u);
}

TEST(EdgeInputs, LinesEndAtEveryKindOfLineEnd) {
  for (const char* end : {"\n", "\r\n", "\r"}) {
    const auto found = ScanPats(std::string("a") + end + end + "  " + Pat(1) + end);
    ASSERT_THAT(found, SizeIs(1));
    EXPECT_EQ(found[0].start_line, 3u);
    EXPECT_EQ(found[0].start_column, 3u);
    EXPECT_EQ(found[0].end_line, 3u);
  }
}

TEST(EdgeInputs, OddBytesAndTinyBlobsAreNoTrouble) {
  EXPECT_THAT(ScanPats("\xE9\xFF" + Pat(1) + "\xE9"), SizeIs(1));
  EXPECT_THAT(ScanPats(""), IsEmpty());
  EXPECT_THAT(ScanPats("g"), IsEmpty());
  EXPECT_THAT(ScanPats("\r"), IsEmpty());
  EXPECT_THAT(ScanPats(std::string(1, '\0')), IsEmpty());
}

TEST(EdgeInputs, TheHandedRulesAgree) {
  KS_NEED_SHARED_CASES(cases);
  auto rules = RuleSet::LoadFile(cases + "/gitleaks.toml", {});
  ASSERT_TRUE(rules.ok()) << Message(rules.status());
  std::string text;
  for (int i = 0; i < 8000; ++i) text += std::string(1010, ' ') + Pat(i);
  EXPECT_THAT(ScanText(**rules, text), SizeIs(8000));
  EXPECT_THAT(ScanText(**rules, Pat(1) + " " + Pat(2)), SizeIs(2));
}

}  // namespace
}  // namespace keysieve::detect
