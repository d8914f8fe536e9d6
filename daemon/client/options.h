// SPDX-License-Identifier: MIT
// What the command line asks for, as plain values. cli.cc makes them, the commands read them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace keysieve::client {

enum class Color { kAuto, kAlways, kNever };

struct CommonOptions {
  std::string server;  // empty: the default
  Color color = Color::kAuto;
  bool quiet = false;
  double timeout_s = 0;  // of the whole run; 0: none
};

// What scan and match have in common.
struct SourceOptions {
  std::vector<std::string> paths;  // "-": standard input
  std::string stdin_name = "-";
  bool gitignore = false;
  int connections = 2;
  int retries = 5;
  bool no_progress = false;
  bool verbose = false;
  std::string output;  // empty: standard output
};

struct ScanCommand {
  CommonOptions common;
  SourceOptions source;
  enum class Format { kText, kJson, kJsonLines } format = Format::kText;
  int findings_code = 1;
  bool show_secrets = false;
  std::string rule_set;
  std::string rules_file;
  std::vector<std::string> baselines;
  std::vector<std::string> ignore_files;
  bool no_ignore_file = false;  // nor the one of the working folder
  std::string write_baseline;   // a path; empty: none
  std::optional<uint32_t> decode_depth;
  std::string label;
  bool profile = false;
};

struct MatchCommand {
  CommonOptions common;
  SourceOptions source;
  enum class Format { kText, kJson } format = Format::kText;
  std::string patterns_file;
  std::string rule_set;
  bool ignore_case = false;
  bool escaped = false;
  bool tagged = false;
};

struct StatusCommand {
  CommonOptions common;
  bool json = false;
};

struct PingCommand {
  CommonOptions common;
  double wait_s = 0;
};

// quarantine, resume and drain: orders that only the daemon's own user may give.
struct OrderCommand {
  CommonOptions common;
  enum class Kind { kQuarantine, kResume, kDrain } kind = Kind::kDrain;
  std::string device;  // "cuda:0"; of the first two
  std::string reason;  // of the first
};

// The command line was answered by the parser itself: help, the version, or an error.
struct ParsedExit {
  int code = 0;
  std::string out;
  std::string err;
};

using Command =
    std::variant<ParsedExit, ScanCommand, MatchCommand, StatusCommand, PingCommand, OrderCommand>;

}  // namespace keysieve::client
