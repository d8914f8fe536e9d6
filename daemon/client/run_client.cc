// SPDX-License-Identifier: MIT
// From the command line to the command.
#include <exception>

#include "daemon/client/cli.h"
#include "daemon/client/commands.h"
#include "daemon/client/exit_code.h"

namespace keysieve::client {
namespace {

int Dispatch(const Command& command, Console& console) {
  if (const auto* scan = std::get_if<ScanCommand>(&command)) return RunScan(*scan, console);
  if (const auto* match = std::get_if<MatchCommand>(&command)) return RunMatch(*match, console);
  if (const auto* status = std::get_if<StatusCommand>(&command)) return RunStatus(*status, console);
  if (const auto* ping = std::get_if<PingCommand>(&command)) return RunPing(*ping, console);
  if (const auto* order = std::get_if<OrderCommand>(&command)) return RunOrder(*order, console);
  const ParsedExit& parsed = std::get<ParsedExit>(command);
  console.out << parsed.out << std::flush;
  console.err << parsed.err << std::flush;
  return parsed.code;
}

}  // namespace

int RunClient(const std::vector<std::string>& args, Console& console) {
  try {
    return Dispatch(ParseCommandLine(args), console);
  } catch (const std::exception& error) {
    console.err << "keysieve: " << error.what() << "\n";
    return kExitService;
  }
}

}  // namespace keysieve::client
