// SPDX-License-Identifier: MIT
#include "daemon/admin/recent_lines.h"

#include <gtest/gtest.h>

namespace keysieve::admin {
namespace {

using config::LogLevel;

TEST(RecentLines, KeepsWarningsNewestFirstAndPassesTheRestOn) {
  std::vector<std::string> passed;
  const config::Log original(
      LogLevel::kInfo, [&passed](const config::LogLine& line) { passed.push_back(line.message); });
  RecentLines recent(2);
  const config::Log log = recent.Through(original);
  log.Debug("e", "zero");
  log.Info("e", "one");
  log.Warning("lane", "two");
  log.Error("lane", "three");
  log.Warning("lane", "four");
  EXPECT_EQ(passed, (std::vector<std::string>{"one", "two", "three", "four"}));
  const auto lines = recent.Read();
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].message, "four");
  EXPECT_EQ(lines[1].message, "three");
  EXPECT_EQ(lines[1].level, LogLevel::kError);
}

TEST(RecentLines, AQuietLogStillLeavesItsWarningsHere) {
  int passed = 0;
  const config::Log original(LogLevel::kError, [&passed](const config::LogLine&) { ++passed; });
  RecentLines recent(8);
  recent.Through(original).Warning("lane", "a fault");
  EXPECT_EQ(passed, 0);
  EXPECT_EQ(recent.Read().size(), 1u);
}

}  // namespace
}  // namespace keysieve::admin
