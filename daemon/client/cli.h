// SPDX-License-Identifier: MIT
// The command line. The only file that knows CLI11, which takes longest to compile.
#pragma once

#include <string>
#include <vector>

#include "daemon/client/options.h"

namespace keysieve::client {

// `args` without the program's name.
Command ParseCommandLine(const std::vector<std::string>& args);

}  // namespace keysieve::client
