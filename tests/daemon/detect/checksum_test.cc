// SPDX-License-Identifier: MIT
// Checksums in tokens: against published examples, and against tokens made here with zlib's CRC.
#include "daemon/detect/checksum.h"

#include <zlib.h>

#include <string>

#include "gmock/gmock.h"
#include "tests/daemon/detect/detect_testing.h"

namespace keysieve::detect {
namespace {

std::string WithCrc(const std::string& prefix, const std::string& text) {
  const std::string digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  uint64_t crc = crc32(0, reinterpret_cast<const Bytef*>(text.data()), text.size());
  std::string sum;
  for (int i = 0; i < 6; ++i, crc /= 62) sum.insert(sum.begin(), digits[crc % 62]);
  return prefix + text + sum;
}

TEST(Checksum, TellsIssuedTokensFromInventedOnes) {
  for (int seed = 0; seed < 200; ++seed) {
    const std::string text = Pat(seed).substr(4, 30);
    const std::string token = WithCrc(seed % 2 == 0 ? "ghp"
                                                      "_"
                                                    : "npm"
                                                      "_",
                                      text);
    EXPECT_EQ(CheckToken(Checksum::kCrc32Base62, token), ChecksumResult::kValid) << token;
    std::string wrong = token;
    wrong[10] = wrong[10] == 'a' ? 'b' : 'a';
    EXPECT_EQ(CheckToken(Checksum::kCrc32Base62, wrong), ChecksumResult::kInvalid);
  }
}

TEST(Checksum, KnowsBip173sExamples) {
  for (const char* good : {"A12UEL5L", "abcdef1qpzry9x8gf2tvdw0s3jn54khce6mua7lmqqqxw",
                           "split1checkupstagehandshakeupstreamerranterredcaperred2y9e3w"}) {
    EXPECT_EQ(CheckToken(Checksum::kBech32, good), ChecksumResult::kValid) << good;
  }
  for (const char* bad : {"A12UEL5M", "abcdef1qpzry9x8gf2tvdw0s3jn54khce6mua7lmqqqxb"}) {
    EXPECT_EQ(CheckToken(Checksum::kBech32, bad), ChecksumResult::kInvalid) << bad;
  }
}

TEST(Checksum, SaysNothingWhereThereIsNoPlaceForIt) {
  EXPECT_EQ(CheckToken(Checksum::kNone, Pat(1)), ChecksumResult::kUnchecked);
  for (const char* odd : {"", "x", "nounderscore", "a_12345", "_123456"}) {
    EXPECT_EQ(CheckToken(Checksum::kCrc32Base62, odd), ChecksumResult::kUnchecked) << odd;
  }
  for (const char* odd : {"", "1", "noseparator", "a1short"}) {
    EXPECT_EQ(CheckToken(Checksum::kBech32, odd), ChecksumResult::kUnchecked) << odd;
  }
}

TEST(Checksum, IsAFieldOfARuleAndLosesNoFinding) {
  const auto rules = Load(std::string(kPatRule) + "checksum = 'crc32-base62'\n");
  const std::string good = WithCrc(
      "ghp"
      "_",
      Pat(3).substr(4, 30));
  const auto found = ScanText(*rules, Pat(1) + " " + good);
  ASSERT_THAT(found, testing::SizeIs(2));
  EXPECT_STREQ(TagOf(found[0].checksum), "checksum:invalid");
  EXPECT_STREQ(TagOf(found[1].checksum), "checksum:valid");
  EXPECT_THAT(LoadError(std::string(kPatRule) + "checksum = 'md5'\n"),
              testing::HasSubstr("checksum: \"md5\" is not known"));
}

}  // namespace
}  // namespace keysieve::detect
