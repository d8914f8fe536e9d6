// SPDX-License-Identifier: MIT
// The command line of keysieved. Reads argv; opens nothing.
//
//   keysieved [--config FILE] [--listen ADDR]... [--admin-listen HOST:PORT] [--rules FILE]
//             [--backend NAME] [--device INDEX|UUID]... [--check] [--version]
//   keysieved rules check|list|explain|test ...
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "daemon/config/config.h"

namespace keysieve::config {

struct CommandLine {
  Overrides overrides;
  bool check = false;  // validate settings and rules, then leave
  bool version = false;
  bool help = false;
  std::string help_text;
  bool rules_command = false;           // `keysieved rules ...`
  std::vector<std::string> rules_args;  // what follows the word
};

// INVALID_ARGUMENT names the flag.
absl::StatusOr<CommandLine> ParseCommandLine(int argc, const char* const* argv);

}  // namespace keysieve::config
