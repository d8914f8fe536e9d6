// SPDX-License-Identifier: MIT
// What scan and match do alike: gather the blobs, move them through the daemon, print notices and
// the last sentence, and deliver the report.
#pragma once

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "daemon/client/blob_stream.h"
#include "daemon/client/console.h"
#include "daemon/client/files.h"
#include "daemon/client/options.h"
#include "daemon/client/report.h"

namespace keysieve::client {

class Job {
 public:
  // Borrows all of them until it is destroyed.
  Job(const CommonOptions& common, const SourceOptions& source, Console& console)
      : common_(common), source_(source), console_(console) {}

  // The address, the output file, the walk. INVALID_ARGUMENT is the caller's to print.
  absl::Status Prepare();

  // Blocks until the daemon has answered or the run ended; the report says which.
  RunReport Run(const BlobService& service);

  // Prints gaps, exclusions, the failure and whether the scan was complete, to standard error.
  void PrintNotices(const RunReport& report, const char* noun);

  // Delivers `text` to --output or standard output. UNAVAILABLE if it could not be written.
  absl::Status Deliver(const std::string& text);

  // The exit code of `report`; `options_refused` is the daemon's no to the options themselves.
  int ExitCode(const RunReport& report, int findings_code) const;

  // Prints one line for an error and returns `code`.
  int Complain(const std::string& message, int code);

  bool WantsColor(bool is_terminal) const;

 private:
  absl::Status ReadStandardInput();
  int Connections() const;

  const CommonOptions& common_;
  const SourceOptions& source_;
  Console& console_;
  ServerAddress server_;
  Deadline deadline_;
  std::unique_ptr<AtomicFile> output_;
  WalkResult walk_;
  std::vector<Blob> blobs_;
  uint64_t blob_bytes_ = 0;
  bool options_refused_ = false;
};

// The server a command talks to: --server or the default.
absl::StatusOr<ServerAddress> ChooseServer(const CommonOptions& common, const Console& console);

}  // namespace keysieve::client
