// SPDX-License-Identifier: MIT
#include "daemon/config/values.h"

#include <gtest/gtest.h>

#include <vector>

namespace keysieve::config {
namespace {

TEST(Size, TakesBytesAndBinaryUnits) {
  EXPECT_EQ(*ParseSize("0"), 0u);
  EXPECT_EQ(*ParseSize("4096"), 4096u);
  EXPECT_EQ(*ParseSize("64KiB"), 65536u);
  EXPECT_EQ(*ParseSize("64 MiB"), 64u << 20);
  EXPECT_EQ(*ParseSize("3GiB"), uint64_t{3} << 30);
}

TEST(Size, RefusesEverythingElse) {
  for (const char* text : {"", "MiB", "-1", "1.5MiB", "64MB", "64mib", "1 TiB",
                           "18446744073709551616", "18446744073709551615GiB"}) {
    EXPECT_FALSE(ParseSize(text).ok()) << text;
  }
}

TEST(Size, IsPrintedInTheLargestWholeUnit) {
  EXPECT_EQ(FormatSize(64 << 20), "64 MiB");
  EXPECT_EQ(FormatSize(1536), "1536 bytes");
  EXPECT_EQ(FormatSize(0), "0 bytes");
}

TEST(Address, RoundTrips) {
  for (const char* text : {"unix:/run/k.sock", "127.0.0.1:0", "localhost:65535", "[::1]:50051"}) {
    const auto address = ParseAddress(text);
    ASSERT_TRUE(address.ok()) << text;
    EXPECT_EQ(address->ToString(), text);
  }
}

TEST(Address, RefusesWhatCannotBeListenedOn) {
  for (const char* text : {"", "unix:", "unix:run/k.sock", "localhost", ":50051",
                           "host:", "host:65536", "host:12x", "::1:50051"}) {
    EXPECT_FALSE(ParseAddress(text).ok()) << text;
  }
  EXPECT_FALSE(ParseAddress("unix:/" + std::string(107, 'a')).ok());
  EXPECT_TRUE(ParseAddress("unix:/" + std::string(106, 'a')).ok());
}

TEST(Nearest, FindsTheSlipAndNothingFar) {
  const std::vector<std::string> words = {"limits.streams", "limits.idle_s"};
  EXPECT_EQ(Nearest("limits.stream", words), "limits.streams");
  EXPECT_EQ(Nearest("tls.certificate", words), std::nullopt);
}

}  // namespace
}  // namespace keysieve::config
