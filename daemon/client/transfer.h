// SPDX-License-Identifier: MIT
// Moves all blobs of a run through the daemon over several connections, trying again what a broken
// or full daemon left undone, a bounded number of times.
#pragma once

#include <chrono>
#include <vector>

#include "daemon/client/blob_stream.h"
#include "daemon/client/board.h"
#include "daemon/client/connection.h"
#include "daemon/client/interrupt.h"

namespace keysieve::client {

struct TransferOptions {
  ServerAddress server;
  int connections = 2;
  // Failures in a row, while no stream of the run settles anything, before giving up.
  int retries = 5;
  std::chrono::milliseconds first_delay{100};  // doubled each time, 5 s at most
  Deadline deadline;                           // of the whole run
};

struct TransferResult {
  std::vector<BlobReport> reports;  // by blob; unsettled where the run ended first
  std::optional<AcceptedStream> accepted;
  grpc::Status error;      // why the run ended early; OK otherwise
  bool timed_out = false;  // the deadline passed; not an error
  bool interrupted = false;
  std::vector<v1::Profile> profiles = {};  // of streams that ended well, if they were asked for
};

// Blocks until every blob is settled or the run ends. Contacts the daemon even for no blobs, so
// that options are checked.
TransferResult Transfer(const BlobService& service, const std::vector<Blob>& blobs,
                        const TransferOptions& options, Progress& progress, Interrupt& interrupt);

}  // namespace keysieve::client
