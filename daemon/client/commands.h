// SPDX-License-Identifier: MIT
// The commands. Each prints what it has to say to the console and returns the exit code.
#pragma once

#include <string>
#include <vector>

#include "daemon/client/console.h"
#include "daemon/client/options.h"

namespace keysieve::client {

// `args` without the program's name. Never throws.
int RunClient(const std::vector<std::string>& args, Console& console);

int RunScan(const ScanCommand& command, Console& console);
int RunMatch(const MatchCommand& command, Console& console);
int RunStatus(const StatusCommand& command, Console& console);
int RunPing(const PingCommand& command, Console& console);
int RunOrder(const OrderCommand& command, Console& console);

}  // namespace keysieve::client
