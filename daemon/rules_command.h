// SPDX-License-Identifier: MIT
// `keysieved rules ...`: what a rule file says and does, without a daemon.
#pragma once

#include <string>
#include <vector>

namespace keysieve {

// Prints to standard output and error. 0; 2 for wrong arguments or rules.
int RunRulesCommand(const std::vector<std::string>& args);

}  // namespace keysieve
