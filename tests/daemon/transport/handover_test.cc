// SPDX-License-Identifier: MIT
// What one program leaves to the next survives the way there, and nothing else is taken for it.
#include "daemon/transport/handover.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

namespace keysieve::transport {
namespace {

Handover Some() {
  return {.restarts = 3,
          .why = "cuda:0 is lost; \xff is no text",
          .admin_address = "127.0.0.1:9464",
          .sockets = {{"127.0.0.1:0", "127.0.0.1:40321", {7, 8}}, {"unix:/a", "unix:/a", {9}}}};
}

TEST(Handover, ComesBackAsItWas) {
  const auto back = HandoverFromText(ToText(Some()));
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->restarts, 3u);
  EXPECT_EQ(back->admin_address, "127.0.0.1:9464");
  ASSERT_EQ(back->sockets.size(), 2u);
  EXPECT_EQ(back->sockets[0].asked, "127.0.0.1:0");
  EXPECT_EQ(back->sockets[0].address, "127.0.0.1:40321");
  EXPECT_EQ(back->sockets[0].fds, (std::vector<int>{7, 8}));
  EXPECT_EQ(back->sockets[1].fds, std::vector<int>{9});
}

TEST(Handover, AnythingElseIsRefused) {
  for (const char* text : {"", "x", "{}", "[1]", "{\"pid\":\"1\"}"}) {
    EXPECT_FALSE(HandoverFromText(text).ok()) << text;
  }
  // Meant for another process.
  std::string text = ToText(Some());
  const std::string pid = "\"pid\":" + std::to_string(::getpid());
  text.replace(text.find(pid), pid.size(), "\"pid\":1");
  EXPECT_FALSE(HandoverFromText(text).ok());
}

TEST(Handover, IsTakenOutOfTheEnvironmentByTheFirstLook) {
  EXPECT_FALSE(TakeHandover().has_value());
  ::setenv("KEYSIEVE_HANDOVER", ToText(Some()).c_str(), 1);
  const auto taken = TakeHandover();
  ASSERT_TRUE(taken.has_value());
  EXPECT_EQ(taken->restarts, 3u);
  EXPECT_EQ(std::getenv("KEYSIEVE_HANDOVER"), nullptr);
  EXPECT_FALSE(TakeHandover().has_value());
}

}  // namespace
}  // namespace keysieve::transport
