// SPDX-License-Identifier: MIT
// Prometheus' own tool, for tests that ask it what it thinks of a text or a file.
//
//   if (!HavePromtool()) GTEST_SKIP() << kNoPromtool;
//   EXPECT_EQ(RunPromtool("check metrics", text).output, "");
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace keysieve::evidence {

inline constexpr char kNoPromtool[] = "promtool is not installed (package prometheus)";

inline bool HavePromtool() { return std::system("promtool --version > /dev/null 2>&1") == 0; }

struct PromtoolResult {
  bool ok = false;
  std::string output;  // of both streams
};

// `input` goes to its standard input. Temporary files are named for this process.
inline PromtoolResult RunPromtool(const std::string& arguments, const std::string& input = "") {
  const std::string base =
      (std::filesystem::temp_directory_path() / ("ks_promtool_" + std::to_string(getpid())))
          .string();
  std::ofstream(base + ".in") << input;
  PromtoolResult result;
  result.ok =
      std::system(
          ("promtool " + arguments + " < " + base + ".in > " + base + ".out 2>&1").c_str()) == 0;
  std::ifstream file(base + ".out");
  result.output = {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  std::filesystem::remove(base + ".in");
  std::filesystem::remove(base + ".out");
  return result;
}

}  // namespace keysieve::evidence
