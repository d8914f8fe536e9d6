// SPDX-License-Identifier: MIT
// Standard input is read whole before it is sent: its size can then be declared, and a broken
// stream can be repeated.
#include "daemon/client/job.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "daemon/client/escape.h"
#include "daemon/client/exit_code.h"
#include "daemon/client/formats.h"
#include "daemon/client/progress_bar.h"
#include "evidence/base/status.h"

namespace keysieve::client {
namespace {

constexpr size_t kGapLines = 20;
constexpr uint64_t kBytesPerConnection = 4 << 20;
constexpr uint64_t kBlobsPerConnection = 256;
constexpr uint64_t kStdinLimit = uint64_t{1} << 30;  // bytes; a daemon's own limit is far below

// The daemon's no to what was asked, as opposed to trouble while doing it.
bool RefusesOptions(const grpc::Status& status) {
  switch (status.error_code()) {
    case grpc::StatusCode::INVALID_ARGUMENT:
    case grpc::StatusCode::NOT_FOUND:
    case grpc::StatusCode::PERMISSION_DENIED:
    case grpc::StatusCode::FAILED_PRECONDITION:
    case grpc::StatusCode::OUT_OF_RANGE:
      return true;
    default:
      return false;
  }
}

}  // namespace

absl::StatusOr<ServerAddress> ChooseServer(const CommonOptions& common, const Console& console) {
  return ParseServerAddress(common.server.empty() ? DefaultServer(console.getenv) : common.server);
}

absl::Status Job::Prepare() {
  KS_ASSIGN_OR_RETURN(server_, ChooseServer(common_, console_));
  if (common_.timeout_s > 0) {
    deadline_ = std::chrono::system_clock::now() +
                std::chrono::milliseconds(static_cast<int64_t>(common_.timeout_s * 1000));
  }
  if (!source_.output.empty()) {
    KS_ASSIGN_OR_RETURN(output_, AtomicFile::Create(source_.output));
  }
  std::vector<std::string> paths = source_.paths;
  const auto dash = std::remove(paths.begin(), paths.end(), "-");
  const bool reads_stdin = dash != paths.end();
  paths.erase(dash, paths.end());
  if (paths.empty() && !reads_stdin) paths.push_back(".");
  WalkOptions walk{source_.gitignore, [this] { return console_.interrupt.triggered(); }};
  KS_ASSIGN_OR_RETURN(walk_, Walk(paths, walk));
  for (WalkedFile& file : walk_.files) {
    blob_bytes_ += file.size;
    blobs_.push_back({std::move(file.path), file.size, nullptr, file.links});
  }
  return reads_stdin ? ReadStandardInput() : absl::OkStatus();
}

absl::Status Job::ReadStandardInput() {
  auto bytes = std::make_shared<std::string>();
  while (!console_.interrupt.triggered()) {
    pollfd fd{console_.stdin_fd, POLLIN, 0};
    constexpr int kPollMs = 100;  // how soon an interruption is noticed
    if (poll(&fd, 1, kPollMs) <= 0) continue;
    constexpr size_t kStep = 1 << 20;
    const size_t filled = bytes->size();
    bytes->resize(filled + kStep);
    const ssize_t got = read(console_.stdin_fd, bytes->data() + filled, kStep);
    bytes->resize(filled + (got > 0 ? static_cast<size_t>(got) : 0));
    if (got == 0) break;
    if (got < 0 && errno != EINTR && errno != EAGAIN) {
      walk_.gaps.push_back(
          {source_.stdin_name, MakeOmission(v1::Omission::READ_ERROR, filled, filled,
                                            Cat("cannot read standard input: ", strerror(errno)))});
      break;
    }
    if (bytes->size() > kStdinLimit) {
      walk_.gaps.push_back(
          {source_.stdin_name,
           MakeOmission(v1::Omission::BLOB_LIMIT, kStdinLimit, kStdinLimit,
                        Cat("only the first ", kStdinLimit, " bytes of standard input are kept"))});
      bytes->resize(kStdinLimit);
      break;
    }
  }
  blob_bytes_ += bytes->size();
  const Blob blob{source_.stdin_name, bytes->size(), std::move(bytes), Links::kRefuse};
  const auto place = std::upper_bound(blobs_.begin(), blobs_.end(), blob,
                                      [](const Blob& a, const Blob& b) { return a.path < b.path; });
  blobs_.insert(place, blob);
  return absl::OkStatus();
}

int Job::Connections() const {
  const uint64_t useful = 1 + std::max(blob_bytes_ / kBytesPerConnection,
                                       static_cast<uint64_t>(blobs_.size()) / kBlobsPerConnection);
  const uint64_t at_most_blobs = std::max<uint64_t>(1, std::min<uint64_t>(useful, blobs_.size()));
  return static_cast<int>(std::min(static_cast<uint64_t>(source_.connections), at_most_blobs));
}

RunReport Job::Run(const BlobService& service) {
  const auto start = std::chrono::steady_clock::now();
  TransferOptions options;
  options.server = server_;
  options.connections = Connections();
  options.retries = source_.retries;
  options.deadline = deadline_;
  Progress progress;
  TransferResult transfer;
  {
    const bool drawn = console_.err_is_terminal && !common_.quiet && !source_.no_progress;
    ProgressBar bar(drawn ? &console_.err : nullptr, progress, blobs_.size(), blob_bytes_);
    transfer = Transfer(service, blobs_, options, progress, console_.interrupt);
  }
  options_refused_ = !transfer.accepted && RefusesOptions(transfer.error);
  const std::string failure = transfer.error.ok() ? "" : Explain(transfer.error, server_);
  RunReport report = BuildReport(std::move(walk_), blobs_, std::move(transfer));
  report.failure = failure;
  report.wall_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return report;
}

void Job::PrintNotices(const RunReport& report, const char* noun) {
  if (!common_.quiet) {
    for (const std::string& warning : report.accepted.warnings) {
      console_.err << "warning: " << EscapeForTerminal(warning) << "\n";
    }
    console_.err << GapLines(report, kGapLines) << ExclusionLines(report, source_.verbose);
    console_.err << ProfileLines(report);
  }
  if (report.failed) console_.err << "keysieve: " << EscapeForTerminal(report.failure) << "\n";
  console_.err << "keysieve: " << CompletenessSentence(report, noun) << std::endl;
}

absl::Status Job::Deliver(const std::string& text) {
  if (output_) return output_->Commit(text);
  console_.out << text << std::flush;
  if (!console_.out) return absl::UnavailableError("cannot write to standard output");
  return absl::OkStatus();
}

int Job::ExitCode(const RunReport& report, int findings_code) const {
  Outcome outcome;
  outcome.interrupted = report.interrupted;
  outcome.usage = options_refused_;
  outcome.failed = report.failed || report.blobs_settled < report.blobs;
  outcome.findings = report.reported;
  outcome.gaps = report.gaps;
  return ExitCodeOf(outcome, findings_code);
}

int Job::Complain(const std::string& message, int code) {
  console_.err << "keysieve: " << EscapeForTerminal(message) << std::endl;
  return code;
}

bool Job::WantsColor(bool is_terminal) const {
  if (common_.color != Color::kAuto) return common_.color == Color::kAlways;
  const char* no_color = console_.getenv("NO_COLOR");
  return is_terminal && output_ == nullptr && (no_color == nullptr || *no_color == '\0');
}

}  // namespace keysieve::client
