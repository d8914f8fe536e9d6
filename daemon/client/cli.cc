// SPDX-License-Identifier: MIT
// One function a subcommand declares its flags; the help text is written here beside them.
#include "daemon/client/cli.h"

#include <CLI/CLI.hpp>
#include <map>
#include <sstream>

#include "daemon/client/exit_code.h"

namespace keysieve::client {
namespace {

constexpr char kScanExamples[] = R"(Examples:
  keysieve scan .                                  everything below the working folder
  keysieve scan --gitignore --format json -o leaks.json src
  git diff origin/main | keysieve scan -           standard input, as one blob
  keysieve scan --write-baseline known.jsonl .     from now on with --baseline known.jsonl

Exit codes: 0 nothing found and everything scanned; 1 findings (see --exit-code); 2 bad arguments or
configuration; 3 the service cannot be reached or failed; 4 something was not scanned (a gap;
exclusions do not count); 130 interrupted. Where several hold, the order is 130, 2, 3, 1, 4.)";

constexpr char kMatchExamples[] = R"(Examples:
  keysieve match --patterns words.txt src          path:start:end:literal, offsets in bytes
  keysieve match --patterns words.txt --ignore-case --format json .
  keysieve match --patterns bytes.txt --escaped -  literals such as \x00\xff

Exit codes are those of scan; 1 means that something matched.)";

constexpr char kMainHelp[] = R"(Examples:
  keysieve scan .                         find leaked credentials below the working folder
  keysieve status                         what the daemon runs on
  keysieve ping --wait 10                 wait until the daemon is ready
  keysieve quarantine cuda:0              give a device no more work; see also resume, drain

The daemon is found at --server, else $KEYSIEVE_SERVER, else its own socket
($XDG_RUNTIME_DIR/keysieve/keysieve.sock or /run/keysieve/keysieve.sock).)";

void AddCommon(CLI::App* app, CommonOptions* to) {
  app->add_option(
      "-s,--server", to->server,
      "the daemon: unix:/path or host:port [default: $KEYSIEVE_SERVER, then its socket]");
  app->add_option("--timeout", to->timeout_s, "seconds for the whole run; what is left is a gap")
      ->check(CLI::Range(0.0, 1e7));
  app->add_flag("-q,--quiet", to->quiet, "print no notices but errors and the last sentence");
  static const std::map<std::string, Color> kColors = {
      {"auto", Color::kAuto}, {"always", Color::kAlways}, {"never", Color::kNever}};
  app->add_option("--color", to->color, "auto, always or never [auto]")
      ->transform(CLI::CheckedTransformer(kColors));
}

void AddSource(CLI::App* app, SourceOptions* to) {
  app->add_option("PATH", to->paths, "files and folders, or - for standard input [.]");
  app->add_flag("--gitignore", to->gitignore, "leave out what .gitignore files name");
  app->add_option("-o,--output", to->output, "write the report to this file, whole or not at all");
  app->add_option("-j,--jobs", to->connections, "connections to the daemon [2]")
      ->check(CLI::Range(1, 64));
  app->add_option("--retries", to->retries, "failures in a row before giving up [5]")
      ->check(CLI::Range(0, 1000));
  app->add_option("--stdin-name", to->stdin_name, "the path standard input is reported under [-]");
  app->add_flag("--no-progress", to->no_progress, "draw no progress bar");
  app->add_flag("-v,--verbose", to->verbose, "list every exclusion");
}

CLI::App* AddScan(CLI::App* app, ScanCommand* to) {
  CLI::App* scan = app->add_subcommand("scan", "Scan files for leaked credentials");
  AddCommon(scan, &to->common);
  AddSource(scan, &to->source);
  static const std::map<std::string, ScanCommand::Format> kFormats = {
      {"text", ScanCommand::Format::kText},
      {"json", ScanCommand::Format::kJson},
      {"jsonl", ScanCommand::Format::kJsonLines}};
  scan->add_option("-f,--format", to->format, "text, json (gitleaks' array) or jsonl [text]")
      ->transform(CLI::CheckedTransformer(kFormats));
  scan->add_option("--exit-code", to->findings_code, "exit code when there are findings [1]")
      ->check(CLI::Range(0, 255));
  scan->add_flag("--show-secrets", to->show_secrets,
                 "do not redact; only for the daemon's own user on its Unix socket");
  auto* set = scan->add_option("--rule-set", to->rule_set, "a rule set the daemon has loaded");
  scan->add_option("--rules", to->rules_file, "a gitleaks rule file (TOML) for this scan, 1 MiB")
      ->excludes(set);
  scan->add_option("--baseline,--baseline-path", to->baselines,
                   "what stands in it does not count again: a --write-baseline file, an earlier "
                   "report (json, jsonl) or a JSON report of gitleaks; may be repeated")
      ->take_all()
      ->allow_extra_args(false);
  scan->add_option("--write-baseline", to->write_baseline,
                   "write what was found to this file, for --baseline; it holds fingerprints, no "
                   "secrets");
  auto* ignore =
      scan->add_option("--ignore-file,--gitleaks-ignore-path", to->ignore_files,
                       "a file of lines [commit:]path:rule:line or fingerprints; may be repeated "
                       "[.gitleaksignore, where there is one]")
          ->take_all()
          ->allow_extra_args(false);
  scan->add_flag("--no-ignore-file", to->no_ignore_file, "read no .gitleaksignore")
      ->excludes(ignore);
  scan->add_option("--decode-depth", to->decode_depth,
                   "layers of encodings to look behind, 0 for none [as the daemon is set]")
      ->check(CLI::Range(0, 10));
  scan->add_option("--label", to->label, "a name for the daemon's log, such as the repository's");
  scan->add_flag("--profile", to->profile,
                 "print what accelerators did for this scan: device time, bytes, waits, faults");
  scan->footer(kScanExamples);
  return scan;
}

CLI::App* AddMatch(CLI::App* app, MatchCommand* to) {
  CLI::App* match = app->add_subcommand("match", "Find every occurrence of literals");
  AddCommon(match, &to->common);
  AddSource(match, &to->source);
  static const std::map<std::string, MatchCommand::Format> kFormats = {
      {"text", MatchCommand::Format::kText}, {"json", MatchCommand::Format::kJson}};
  match->add_option("-f,--format", to->format, "text or json [text]")
      ->transform(CLI::CheckedTransformer(kFormats));
  auto* patterns = match->add_option("-p,--patterns", to->patterns_file, "one literal a line");
  match->add_option("--rule-set", to->rule_set, "the literals of a loaded rule set instead")
      ->excludes(patterns);
  match->add_flag("-i,--ignore-case", to->ignore_case, "ASCII letters match in either case");
  match->add_flag("--escaped", to->escaped,
                  "the file writes bytes as \\xNN and a backslash as \\\\");
  match->add_flag("--tagged", to->tagged, "each line begins with i or s and a tab: its case");
  match->footer(kMatchExamples);
  return match;
}

// The orders that take a device by name.
CLI::App* AddDeviceOrder(CLI::App* app, const char* name, const char* help, OrderCommand* to) {
  CLI::App* order = app->add_subcommand(name, help);
  AddCommon(order, &to->common);
  order->add_option("DEVICE", to->device, "cuda:0, a UUID, or cuda where there is one; see status")
      ->required();
  order->footer("Only the daemon's own user may, through its Unix socket.");
  return order;
}

std::string PrintedBy(CLI::App& app, const CLI::ParseError& error, std::string* err) {
  std::ostringstream out;
  std::ostringstream problems;
  app.exit(error, out, problems);
  *err = problems.str();
  return out.str();
}

}  // namespace

Command ParseCommandLine(const std::vector<std::string>& args) {
  CLI::App app("keysieve: asks a keysieved daemon for leaked credentials", "keysieve");
  app.footer(kMainHelp);
  app.set_version_flag("--version", "keysieve " KEYSIEVE_VERSION);
  app.require_subcommand(1);

  ScanCommand scan;
  MatchCommand match;
  StatusCommand status;
  PingCommand ping;
  CLI::App* scan_app = AddScan(&app, &scan);
  CLI::App* match_app = AddMatch(&app, &match);
  CLI::App* status_app = app.add_subcommand("status", "What the daemon is doing, and on what");
  AddCommon(status_app, &status.common);
  status_app->add_flag("--json", status.json, "as JSON");
  CLI::App* ping_app = app.add_subcommand("ping", "Exit 0 if the daemon is ready, 3 if not");
  AddCommon(ping_app, &ping.common);
  ping_app->add_option("--wait", ping.wait_s, "seconds to wait for it")
      ->check(CLI::Range(0.0, 1e7));

  OrderCommand quarantine{.kind = OrderCommand::Kind::kQuarantine};
  OrderCommand resume{.kind = OrderCommand::Kind::kResume};
  OrderCommand drain;
  CLI::App* quarantine_app = AddDeviceOrder(
      &app, "quarantine", "Give a device no more work; its memory is freed", &quarantine);
  quarantine_app->add_option("--reason", quarantine.reason, "shown to whoever asks why");
  CLI::App* resume_app =
      AddDeviceOrder(&app, "resume", "Open a device that was quarantined or did not open", &resume);
  CLI::App* drain_app = app.add_subcommand(
      "drain", "Take no new scans, let those under way end, then stop the daemon");
  AddCommon(drain_app, &drain.common);
  drain_app->footer("Only the daemon's own user may, through its Unix socket.");

  try {
    std::vector<std::string> reversed(args.rbegin(), args.rend());
    app.parse(reversed);
  } catch (const CLI::ParseError& error) {
    ParsedExit answer;
    answer.code = error.get_exit_code() == 0 ? kExitClean : kExitUsage;
    answer.out = PrintedBy(app, error, &answer.err);
    return answer;
  }
  if (scan_app->parsed()) return scan;
  if (match_app->parsed()) return match;
  if (status_app->parsed()) return status;
  if (quarantine_app->parsed()) return quarantine;
  if (resume_app->parsed()) return resume;
  if (drain_app->parsed()) return drain;
  return ping;
}

}  // namespace keysieve::client
