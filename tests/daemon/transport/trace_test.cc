// SPDX-License-Identifier: MIT
#include "daemon/transport/trace.h"

#include <gtest/gtest.h>

namespace keysieve::transport {
namespace {

const std::string kTrace = "0af7651916cd43dd8448eb211c80319c";
const std::string kParent = "b7ad6b7169203331";

TEST(Trace, TheIdIsTakenFromAWellFormedHeader) {
  EXPECT_EQ(TraceId("00-" + kTrace + "-" + kParent + "-01"), kTrace);
  EXPECT_EQ(TraceId("01-" + kTrace + "-" + kParent + "-00-more"), kTrace);
}

TEST(Trace, AMalformedHeaderIsIgnored) {
  const std::string good = "00-" + kTrace + "-" + kParent + "-01";
  for (size_t length = 0; length < good.size(); ++length) {
    EXPECT_EQ(TraceId(good.substr(0, length)), "") << length;
  }
  for (size_t at = 0; at < good.size(); ++at) {
    std::string bad = good;
    bad[at] = 'G';
    EXPECT_EQ(TraceId(bad), "") << at;
  }
  EXPECT_EQ(TraceId(good + "-more"), "");
  EXPECT_EQ(TraceId("01-" + kTrace + "-" + kParent + "-00more"), "");
  EXPECT_EQ(TraceId("ff-" + kTrace + "-" + kParent + "-01"), "");
  EXPECT_EQ(TraceId("00-" + std::string(32, '0') + "-" + kParent + "-01"), "");
  EXPECT_EQ(TraceId("00-" + kTrace + "-" + std::string(16, '0') + "-01"), "");
  EXPECT_EQ(TraceId("00-" + std::string(32, 'A') + "-" + kParent + "-01"), "");
}

}  // namespace
}  // namespace keysieve::transport
