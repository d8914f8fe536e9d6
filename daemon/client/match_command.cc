// SPDX-License-Identifier: MIT
// keysieve match, and the reader of its pattern files.
#include "daemon/client/commands.h"
#include "daemon/client/escape.h"
#include "daemon/client/exit_code.h"
#include "daemon/client/formats.h"
#include "daemon/client/job.h"
#include "daemon/client/patterns.h"
#include "evidence/base/status.h"

namespace keysieve::client {
namespace {

absl::StatusOr<v1::MatchOptions> MakeOptions(const MatchCommand& command) {
  v1::MatchOptions options;
  if (!command.rule_set.empty()) {
    options.set_rule_set(EscapeForTerminal(command.rule_set));
    return options;
  }
  if (command.patterns_file.empty()) {
    return absl::InvalidArgumentError("match needs --patterns FILE or --rule-set NAME");
  }
  KS_ASSIGN_OR_RETURN(const std::string text,
                      ReadSmallFile(command.patterns_file, kPatternFileLimit, Links::kFollow));
  const PatternSyntax syntax{command.ignore_case, command.escaped, command.tagged};
  auto patterns = ParsePatterns(text, syntax);
  if (!patterns.ok()) {
    return absl::InvalidArgumentError(Cat(command.patterns_file, ", ", Message(patterns.status())));
  }
  for (v1::Pattern& pattern : *patterns) *options.add_patterns() = std::move(pattern);
  return options;
}

std::vector<std::string> Literals(const v1::MatchOptions& options, const RunReport& report) {
  std::vector<std::string> literals;
  for (const v1::Pattern& pattern : options.patterns()) literals.push_back(pattern.literal());
  if (!literals.empty()) return literals;
  for (const v1::Pattern& pattern : report.accepted.patterns) literals.push_back(pattern.literal());
  return literals;
}

}  // namespace

int RunMatch(const MatchCommand& command, Console& console) {
  Job job(command.common, command.source, console);
  const auto options = MakeOptions(command);
  if (!options.ok()) return job.Complain(Message(options.status()), kExitUsage);
  if (const auto prepared = job.Prepare(); !prepared.ok()) {
    return job.Complain(Message(prepared), kExitUsage);
  }
  const RunReport report = job.Run(*MakeMatchService(*options));
  const int code = job.ExitCode(report, kExitFindings);
  if (code == kExitUsage) return job.Complain(report.failure, code);
  const std::vector<std::string> literals = Literals(*options, report);
  for (const LiteralHit& hit : report.hits) {
    if (hit.match.pattern_id() < literals.size()) continue;
    return job.Complain(
        Cat("the daemon answered with pattern ", hit.match.pattern_id(), " of ", literals.size()),
        kExitService);
  }
  const bool json = command.format == MatchCommand::Format::kJson;
  const std::string text = json ? HitsAsJson(report, literals) : HitsAsText(report, literals);
  if (report.interrupted) {
    console.err << HitsAsText(report, literals);
    job.PrintNotices(report, "match");
    return code;
  }
  const auto delivered = job.Deliver(text);
  job.PrintNotices(report, "match");
  return delivered.ok() ? code : job.Complain(Message(delivered), kExitService);
}

}  // namespace keysieve::client
