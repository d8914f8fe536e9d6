// SPDX-License-Identifier: MIT
// keysieve scan.
#include <filesystem>
#include <system_error>

#include "daemon/client/commands.h"
#include "daemon/client/escape.h"
#include "daemon/client/exit_code.h"
#include "daemon/client/files.h"
#include "daemon/client/formats.h"
#include "daemon/client/job.h"
#include "evidence/base/status.h"

namespace keysieve::client {
namespace {

constexpr uint64_t kRulesLimit = 1 << 20;          // bytes, the protocol's
constexpr uint64_t kIgnoresLimit = 16 << 20;       // bytes together, the protocol's
constexpr char kIgnoreFile[] = ".gitleaksignore";  // read unasked, as gitleaks does
constexpr char kSpaces[] = " \t\r\n";

// A report that is an array is gitleaks' or ours in gitleaks' form; else it is ours, a line a
// record.
v1::IgnoreSource::Format BaselineFormat(const std::string& content) {
  const size_t first = content.find_first_not_of(kSpaces);
  return first != std::string::npos && content[first] == '[' ? v1::IgnoreSource::GITLEAKS_BASELINE
                                                             : v1::IgnoreSource::KEYSIEVE_BASELINE;
}

absl::Status AddIgnores(const ScanCommand& command, v1::ScanOptions* options) {
  uint64_t total = 0;
  const auto add = [&](const std::string& path) -> absl::StatusOr<v1::IgnoreSource*> {
    KS_ASSIGN_OR_RETURN(std::string content, ReadSmallFile(path, kIgnoresLimit, Links::kFollow));
    total += content.size();
    if (total > kIgnoresLimit) {
      return absl::InvalidArgumentError(
          Cat("baselines and ignore files are larger than ", kIgnoresLimit, " bytes together"));
    }
    v1::IgnoreSource* source = options->add_ignores();
    source->set_name(EscapeForTerminal(path));
    source->set_content(std::move(content));
    return source;
  };
  for (const std::string& path : command.baselines) {
    KS_ASSIGN_OR_RETURN(v1::IgnoreSource * source, add(path));
    source->set_format(BaselineFormat(source->content()));
  }
  std::vector<std::string> ignore_files = command.ignore_files;
  std::error_code error;
  if (ignore_files.empty() && !command.no_ignore_file &&
      std::filesystem::is_regular_file(kIgnoreFile, error)) {
    ignore_files.push_back(kIgnoreFile);
  }
  for (const std::string& path : ignore_files) {
    KS_ASSIGN_OR_RETURN(v1::IgnoreSource * source, add(path));
    source->set_format(v1::IgnoreSource::GITLEAKS_IGNORE);
  }
  return absl::OkStatus();
}

absl::StatusOr<v1::ScanOptions> MakeOptions(const ScanCommand& command) {
  v1::ScanOptions options;
  if (!command.rules_file.empty()) {
    KS_ASSIGN_OR_RETURN(std::string rules,
                        ReadSmallFile(command.rules_file, kRulesLimit, Links::kFollow));
    options.set_rule_toml(std::move(rules));
  } else if (!command.rule_set.empty()) {
    options.set_rule_set(EscapeForTerminal(command.rule_set));
  }
  options.set_show_secrets(command.show_secrets);
  if (command.decode_depth) options.set_decode_depth(*command.decode_depth);
  options.set_label(EscapeForTerminal(command.label));
  options.set_profile(command.profile);
  KS_RETURN_IF_ERROR(AddIgnores(command, &options));
  return options;
}

std::string Format(const ScanCommand& command, const RunReport& report, bool color, int code) {
  switch (command.format) {
    case ScanCommand::Format::kJson:
      return FindingsAsJson(report);
    case ScanCommand::Format::kJsonLines:
      return ReportAsJsonLines(report, code);
    default:
      return FindingsAsText(report, color);
  }
}

}  // namespace

int RunScan(const ScanCommand& command, Console& console) {
  Job job(command.common, command.source, console);
  auto options = MakeOptions(command);
  if (!options.ok()) return job.Complain(Message(options.status()), kExitUsage);
  std::unique_ptr<AtomicFile> baseline;
  if (!command.write_baseline.empty()) {
    auto created = AtomicFile::Create(command.write_baseline);
    if (!created.ok()) return job.Complain(Message(created.status()), kExitUsage);
    baseline = *std::move(created);
  }
  if (const auto prepared = job.Prepare(); !prepared.ok()) {
    return job.Complain(Message(prepared), kExitUsage);
  }
  const RunReport report = job.Run(*MakeScanService(*std::move(options)));
  const int code = job.ExitCode(report, command.findings_code);
  if (report.interrupted) {
    // Nobody waits for a report any more; what is known is still worth saying.
    console.err << FindingsAsText(report, job.WantsColor(console.err_is_terminal));
    job.PrintNotices(report, "finding");
    return code;
  }
  if (code == kExitUsage) return job.Complain(report.failure, code);
  const std::string text = Format(command, report, job.WantsColor(console.out_is_terminal), code);
  auto delivered = job.Deliver(text);
  // What an incomplete scan did not see would count as new the next time.
  if (delivered.ok() && baseline != nullptr && !report.failed) {
    delivered = baseline->Commit(FindingsAsBaseline(report));
  }
  job.PrintNotices(report, "finding");
  return delivered.ok() ? code : job.Complain(Message(delivered), kExitService);
}

}  // namespace keysieve::client
