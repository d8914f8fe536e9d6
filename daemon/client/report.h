// SPDX-License-Identifier: MIT
// What a run found and what it covered, put in order: the one value every format prints. Holds no
// formatting and no input or output.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "daemon/client/board.h"
#include "daemon/client/transfer.h"
#include "daemon/client/walk.h"
#include "keysieve/v1/scan.pb.h"

namespace keysieve::client {

struct LiteralHit {
  std::string path;
  v1::LiteralMatch match;
};

struct BlobNote {
  std::string path;
  v1::Receipt receipt;
};

struct RunReport {
  std::vector<v1::Finding> findings;  // by (path, start, end, rule), suppressed ones among them
  std::vector<LiteralHit> hits;       // by (path, start, end, pattern)
  std::vector<BlobNote> notes;        // by path: only blobs with something to tell
  std::map<std::string, uint64_t> route_bytes;  // backend name -> bytes scanned
  uint64_t blobs = 0;                           // met
  uint64_t blobs_settled = 0;                   // answered by the daemon, or known to be a gap
  uint64_t bytes = 0;                           // received by the daemon
  uint64_t scanned_bytes = 0;
  uint64_t reported = 0;  // findings that are not suppressed, or hits
  uint64_t suppressed = 0;
  uint64_t gaps = 0;
  uint64_t exclusions = 0;
  uint64_t recovered = 0;  // blobs that took the CPU route after a fault
  bool complete = false;   // every blob settled, and no gap anywhere
  bool interrupted = false;
  bool failed = false;
  std::string failure;  // one sentence, when failed
  AcceptedStream accepted;
  double wall_seconds = 0;
  std::optional<v1::Profile> profile;  // of all streams together, if it was asked for
};

// `blobs` and `transfer.reports` go together. Blobs a deadline left behind become TIMEOUT gaps.
RunReport BuildReport(WalkResult walk, const std::vector<Blob>& blobs, TransferResult transfer);

const char* RouteName(v1::Route route);               // "cpu", "cuda", ...
const char* ReasonName(v1::Omission::Reason reason);  // "blob_limit", "symlink", ...

}  // namespace keysieve::client
