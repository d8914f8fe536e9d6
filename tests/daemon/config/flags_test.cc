// SPDX-License-Identifier: MIT
#include "daemon/config/flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "evidence/base/status.h"

namespace keysieve::config {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

absl::StatusOr<CommandLine> Parse(std::vector<const char*> args) {
  args.insert(args.begin(), "keysieved");
  return ParseCommandLine(static_cast<int>(args.size()), args.data());
}

TEST(Flags, AllAreRead) {
  const auto line =
      Parse({"--config", "c.toml", "--listen", "unix:/a", "--listen=127.0.0.1:0", "--admin-listen",
             "off", "--rules", "r.toml", "--backend", "vulkan", "--device", "0", "--device", "1"});
  ASSERT_TRUE(line.ok()) << Message(line.status());
  EXPECT_EQ(line->overrides.file, "c.toml");
  EXPECT_THAT(line->overrides.listen, ElementsAre("unix:/a", "127.0.0.1:0"));
  EXPECT_EQ(line->overrides.admin_listen, "off");
  EXPECT_EQ(line->overrides.rules, "r.toml");
  EXPECT_EQ(line->overrides.backend, "vulkan");
  EXPECT_THAT(line->overrides.devices, ElementsAre("0", "1"));
  EXPECT_FALSE(line->check);
}

TEST(Flags, NothingGivenLeavesOverridesEmpty) {
  const auto line = Parse({});
  ASSERT_TRUE(line.ok());
  EXPECT_FALSE(line->overrides.admin_listen.has_value());
  EXPECT_TRUE(line->overrides.listen.empty());
}

TEST(Flags, UnknownFlagIsNamed) {
  const auto line = Parse({"--lisen", "unix:/a"});
  ASSERT_FALSE(line.ok());
  EXPECT_THAT(Message(line.status()), HasSubstr("--lisen"));
}

TEST(Flags, RulesCommandKeepsItsArguments) {
  const auto line = Parse({"rules", "check", "--json", "x.toml"});
  ASSERT_TRUE(line.ok());
  EXPECT_TRUE(line->rules_command);
  EXPECT_THAT(line->rules_args, ElementsAre("check", "--json", "x.toml"));
}

TEST(Flags, HelpListsTheFlags) {
  const auto line = Parse({"--help"});
  ASSERT_TRUE(line.ok());
  EXPECT_TRUE(line->help);
  EXPECT_THAT(line->help_text, HasSubstr("--admin-listen"));
}

}  // namespace
}  // namespace keysieve::config
