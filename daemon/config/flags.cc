// SPDX-License-Identifier: MIT
// CLI11 at work, in this file only: it takes seconds to compile.
#include "daemon/config/flags.h"

#include <CLI/CLI.hpp>

#include "evidence/base/status.h"

namespace keysieve::config {

absl::StatusOr<CommandLine> ParseCommandLine(int argc, const char* const* argv) {
  CommandLine line;
  if (argc > 1 && std::string(argv[1]) == "rules") {
    line.rules_command = true;
    line.rules_args.assign(argv + 2, argv + argc);
    return line;
  }
  CLI::App app("keysieved: scans the bytes it is sent for leaked credentials", "keysieved");
  std::string admin_listen;
  Overrides& o = line.overrides;
  app.add_option("--config", o.file, "Settings file (TOML)")->type_name("FILE");
  app.add_option("--listen", o.listen, "Where to serve scans: unix:/path or host:port; repeatable")
      ->type_name("ADDR")
      ->allow_extra_args(false);
  auto* admin =
      app.add_option("--admin-listen", admin_listen, "Where to serve /metrics and health, or off")
          ->type_name("HOST:PORT");
  app.add_option("--rules", o.rules, "Rule file (gitleaks TOML)")->type_name("FILE");
  app.add_option("--backend", o.backend, "auto, cpu, vulkan, cuda or metal")->type_name("NAME");
  app.add_option("--device", o.devices, "Index or UUID of a device; repeatable")
      ->type_name("INDEX|UUID")
      ->allow_extra_args(false);
  app.add_flag("--check", line.check, "Check the settings and the rules, then leave");
  app.add_flag("--version", line.version, "Print the version and leave");
  app.footer("Rule files: keysieved rules check|list|explain|test, see keysieved rules --help");
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    line.help = true;
    line.help_text = app.help();
  } catch (const CLI::ParseError& error) {
    return absl::InvalidArgumentError(Cat(error.what(), "; see keysieved --help"));
  }
  if (admin->count() > 0) o.admin_listen = admin_listen;
  return line;
}

}  // namespace keysieve::config
