// SPDX-License-Identifier: MIT
// What the pipeline takes in and gives out, as plain data: no gRPC, no generated type. Transport
// translates; tests speak these directly. Offsets and sizes are bytes, ranges half open.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "backends/device.h"
#include "daemon/detect/finding.h"
#include "daemon/detect/rule_set.h"
#include "daemon/detect/suppress/ignores.h"
#include "evidence/context_pool.h"
#include "megakernel/literal.h"

namespace keysieve::pipeline {

using Clock = std::chrono::steady_clock;

// Limits every client is told; those of a blob come from the settings.
inline constexpr uint64_t kMaxChunkBytes = 1 << 20;
inline constexpr uint64_t kMaxMessageBytes = 4 << 20;
inline constexpr uint64_t kMaxPathBytes = 4096;
inline constexpr uint64_t kMaxLabelBytes = 256;
inline constexpr uint64_t kMaxRuleTextBytes = 1 << 20;
inline constexpr uint64_t kMaxPatternListBytes = 8 << 20;

// Who calls. `owner`: the daemon's own user on the daemon's own Unix socket; else `why_not` says
// what the caller is instead.
struct Caller {
  bool owner = false;
  std::string why_not;
  std::string peer;      // for the log
  std::string tenant;    // whom the work is counted for; empty: nobody in particular
  std::string trace_id;  // W3C trace context, 32 hex digits; empty if the caller gave none
};

struct ScanOptions {
  std::string rule_set;                  // empty: the daemon's
  std::optional<std::string> rule_toml;  // a rule file's text
  bool show_secrets = false;
  std::string label;                              // for the log
  bool profile = false;                           // the summary carries the scan's own metrics
  std::vector<detect::suppress::Source> ignores;  // baselines and ignore files
  std::optional<uint32_t> decode_depth;           // at most the daemon's; absent: the daemon's
};

struct MatchOptions {
  std::vector<megakernel::Literal> patterns;
  std::string rule_set;  // instead of patterns: that set's literals
};

// A stretch of one blob, as received.
struct Chunk {
  uint64_t blob_id = 0;
  std::string path;                       // first chunk only
  std::optional<uint64_t> declared_size;  // first chunk only
  uint64_t offset = 0;
  bool last = false;
  std::string commit;  // first chunk only
  bool by_reference = false;
  std::string data;
};

// Why bytes were not scanned; the numbers are those of the protocol.
enum class Reason : uint8_t {
  kBlobLimit = 1,
  kUndecodable = 6,
  kDecodeLimit = 7,
  kAllowlistedPath = 32
};
const char* ReasonName(Reason reason);  // "blob_limit", ...: metric labels

struct Omission {
  Reason reason = Reason::kBlobLimit;
  uint64_t start = 0;
  uint64_t end = 0;
  std::string detail;
};

// What happened to a blob's bytes.
struct Receipt {
  uint64_t blob_bytes = 0;     // received
  uint64_t scanned_bytes = 0;  // equal to blob_bytes unless a gap or an exclusion says why not
  backends::BackendKind route = backends::BackendKind::kCpu;
  bool recovered = false;
  std::string route_reason;
  std::vector<Omission> gaps;
  std::vector<Omission> exclusions;
};

// Did a route see the blob? One of no bytes counts, one that was left out does not.
inline bool WasScanned(const Receipt& receipt) {
  return receipt.scanned_bytes > 0 || (receipt.gaps.empty() && receipt.exclusions.empty());
}

struct BlobResult {
  uint64_t blob_id = 0;
  std::string path;
  std::string commit;
  std::shared_ptr<const detect::RuleSet> rules;  // that the findings' numbers refer to
  std::vector<detect::Finding> findings;         // redacted unless the caller may see them
  Receipt receipt;
};

// Some of a blob's hits; the last message of a blob has its receipt.
struct HitsResult {
  uint64_t blob_id = 0;
  std::span<const megakernel::LiteralHit> hits;  // borrowed for the call
  bool last = false;
  const Receipt* receipt = nullptr;  // with `last`
};

struct Accepted {
  std::string scan_id;
  uint64_t blob_bytes = 0;  // limit of one blob
  std::string rule_digest;  // of the table in a match
  uint32_t rule_count = 0;  // patterns in a match
  std::string rule_set;
  std::vector<std::string> warnings;              // of what the caller sent
  std::span<const megakernel::Literal> literals;  // a match with a named rule set; borrowed
};

// What accelerators did for one scan that asked.
struct Profile {
  std::string unavailable;  // why there is none; then the rest is empty
  evidence::ContextRecord record;
  std::map<std::string, uint64_t> device_ns;  // by backend: charged by bytes, see MatchOutcome
};

struct Summary {
  std::string scan_id;
  uint64_t blobs = 0;
  uint64_t bytes = 0;
  uint64_t scanned_bytes = 0;
  uint64_t findings = 0;    // that count
  uint64_t suppressed = 0;  // and those that do not
  uint64_t gaps = 0;
  uint64_t exclusions = 0;
  bool complete = true;
  std::map<std::string, uint64_t> route_bytes;
  std::string rule_digest;
  double wall_seconds = 0;
  std::optional<Profile> profile;  // if it was asked for
};

// Why a stream ends before its summary.
struct Failure {
  absl::StatusCode code = absl::StatusCode::kInternal;
  std::string reason;  // UPPER_SNAKE_CASE, for programs
  std::string message;
  std::string field;                                     // of the request, if one is to blame
  std::optional<std::chrono::milliseconds> retry_after;  // absent: trying again will not help
};

// Where a stream's replies go. Calls come one at a time, from any thread, and must neither block
// nor call back into the stream. After Done() or Failed() nothing follows.
class ScanSink {
 public:
  virtual ~ScanSink() = default;
  virtual void OnAccepted(const Accepted& accepted) = 0;
  virtual void OnBlob(BlobResult result) = 0;
  virtual void OnHits(const HitsResult& result) = 0;
  virtual void OnDone(const Summary& summary) = 0;
  virtual void OnFailed(const Failure& failure) = 0;
  // The pipeline takes another message: read one, or report the half close.
  virtual void OnWantMore() = 0;

  // Replies accepted and not yet written out.
  virtual uint64_t queued_bytes() const = 0;
  // Since when the caller has not taken the reply at the head of the queue.
  virtual std::optional<Clock::time_point> stalled_since() const = 0;
};

}  // namespace keysieve::pipeline
