// SPDX-License-Identifier: MIT
// What the pipeline asks of the scheduler: the literal hits of one whole blob. How blobs are
// packed, cut, retried and rerouted is the lanes' business and never shows in the hits.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "backends/device.h"
#include "evidence/scan_recorder.h"
#include "megakernel/literal.h"
#include "megakernel/table.h"

namespace keysieve::scheduler {

struct MatchOutcome {
  // OK; CANCELLED; RESOURCE_EXHAUSTED: the table fits no arena; UNAVAILABLE: every route failed.
  absl::Status status;
  std::vector<megakernel::LiteralHit> hits;                   // all of the blob's, sorted
  backends::BackendKind route = backends::BackendKind::kCpu;  // that matched
  bool recovered = false;    // an accelerator failed and the CPU route did the work
  std::string route_reason;  // one sentence, when recovered
  // Kernel time of the route's batches, of each the part that the blob's bytes were of the batch's.
  // 0 where the backend cannot tell. What a device spent in vain before a recovery is not in it.
  uint64_t device_ns = 0;
};

struct MatchJob {
  std::span<const uint8_t> bytes;     // the whole blob
  std::shared_ptr<const void> owner;  // keeps the bytes alive
  std::shared_ptr<const megakernel::Table> table;
  uint64_t request = 0;  // jobs of different requests take turns
  uint32_t tenant = 0;
  evidence::ContextId profile = evidence::ContextId::kProcess;  // of the scan, if it is profiled
  // Null: cannot be cancelled. The jobs of one request share one flag.
  std::shared_ptr<const std::atomic<bool>> cancelled;
  std::function<void(MatchOutcome)> done;  // exactly once, on any thread; never blocks
};

class Matcher {
 public:
  virtual ~Matcher() = default;
  // Thread-safe, never blocks; takes the job over.
  virtual void Submit(MatchJob job) = 0;
};

}  // namespace keysieve::scheduler
