// SPDX-License-Identifier: MIT
// The megakernel session: resident buffers, a table arena, a ring of work slots and a program that
// drains what has been published. open -> submit -> flush -> next -> shutdown. One session per
// device, driven by the one lane thread that owns the device. Where the device allows it the
// program stays there (resident), else each batch is a launch of its own; a caller sees no
// difference.
//
//   auto session = Session::Open(*device, options);
//   TableHandle table = *(*session)->LoadTable(compiled);
//   BatchId id = *(*session)->Submit({.table = table, .pieces = pieces});
//   (*session)->Flush();
//   BatchResult done = *(*session)->Next(Clock::now() + 2s);
//
// Several batches are in flight at once; each has its own text, hit queue and counters. A piece's
// bytes are copied at Submit and may be freed after it. Results come in submission order.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "backends/device.h"
#include "megakernel/literal.h"
#include "megakernel/table.h"

namespace keysieve::megakernel {

// Never changes a result. Open() refuses what the ABI or the device cannot hold.
struct Geometry {
  uint32_t slots = 256;      // a whole multiple of no more than 4,096; see abi.inl
  uint32_t workgroup = 256;  // invocations; `slots` must be a multiple of it or it of `slots`
  uint32_t tenants = 64;
  uint32_t batches = 4;               // in flight
  uint64_t batch_bytes = 8 << 20;     // text of one batch
  uint64_t table_bytes = 32 << 20;    // the table arena
  uint32_t hits_per_batch = 1 << 18;  // first capacity; overflow is replayed with room
};

// How the device program finds hits; never changes one.
enum class MatchRoute : uint8_t {
  kTuned,     // the image's own way where it has one, else the shared body
  kPortable,  // the same, without what only some devices of a backend offer
  kShared,    // the shared body alone
};

// How the device comes to a batch; never changes a result.
enum class SessionPolicy : uint8_t {
  kAuto,      // resident where it opens, else epochs on the same device
  kResident,  // a program stays on the device and takes batch after batch; refused where it can't
  kEpoch,     // each batch is a launch that returns
};
std::string_view SessionPolicyName(SessionPolicy policy);  // "auto", "resident", "epoch"

// What a tenant may have of an epoch. The device program holds it to that.
struct TenantRules {
  uint32_t opcodes = ~0u;    // a bit an opcode that it may run
  uint32_t epoch_bytes = 0;  // its slots past this many bytes wait for another epoch; 0 = no limit
};

struct SessionOptions {
  Geometry geometry;
  evidence::DeviceRecorder* recorder = nullptr;
  std::chrono::milliseconds watchdog{10000};  // per epoch; a software device needs more
  MatchRoute route = MatchRoute::kTuned;
  bool await_tuned = false;     // LoadTable() returns with the tuned route ready or refused
  uint32_t copy_threads = 0;    // that copy text into pinned memory; 0 = chosen by the device
  uint32_t decode_threads = 0;  // that sort hits beside the lane; 0 = chosen by the device
  SessionPolicy policy = SessionPolicy::kAuto;
  // A resident program without work leaves the device after this long and comes back on demand.
  // 0 = never.
  std::chrono::milliseconds park_after{1000};
  uint32_t resident_blocks = 0;  // multiprocessors a resident program holds; 0 = a quarter
};

// Names a resident table; a stale generation is refused, never matched.
struct TableHandle {
  uint32_t id = 0;
  uint32_t generation = 0;
};

// A stretch of one blob. Hits are reported whose start lies in [owned_begin, owned_end); they may
// read on up to text.size(). Offsets are bytes from the stretch's first.
struct Piece {
  std::span<const uint8_t> text;
  uint32_t owned_begin = 0;
  uint32_t owned_end = 0;   // <= text.size()
  uint32_t tenant = 0;      // below geometry.tenants
  bool begins_blob = true;  // false: a cut
  bool ends_blob = true;    // false: a cut
};

struct Batch {
  TableHandle table;
  std::span<const Piece> pieces;
  // Not null: the pieces' bytes lie in this pinned buffer of the session's device and go to the
  // device from there. They must then stay as they are until the batch's Next().
  const backends::Buffer* pinned = nullptr;
  uint32_t attempt = 0;  // from 1 when the same pieces were submitted before; recorded as a retry
};

using BatchId = uint64_t;  // increasing from 1, per session

struct BatchResult {
  BatchId id = 0;
  // One entry a piece, in order; hits sorted, start and end in bytes from the piece's first.
  std::vector<std::vector<LiteralHit>> hits;
  uint64_t device_ns = 0;  // kernel time of the batch, 0 if the backend cannot tell
  uint32_t replays = 0;    // hit-queue overflows that were replayed
};

// What the session and the device program have counted since Open().
struct SessionStats {
  uint64_t epochs = 0;       // completed
  uint64_t opcodes[8] = {};  // slots run, by opcode
  uint64_t unknown_opcodes = 0;
  uint64_t scanned_bytes = 0;  // owned bytes, as the program counted them
  uint64_t busy_ns = 0;        // time in slots, summed over workgroups; 0 without a device clock
  uint64_t requeued = 0;       // slots put off to another epoch by their tenant's quota
  uint64_t cut_short = 0;      // epochs with slots that reached a step limit: replayed
  uint64_t debug_dropped = 0;  // debug records that found the log full
  uint64_t tuned_slots = 0;    // of the scans: matched by the image's tuned route
  uint64_t launches = 0;       // of the resident program: the first, and one each wake
};

class Session {
 public:
  // Allocates every buffer and loads the program. INVALID_ARGUMENT names the geometry field.
  static absl::StatusOr<std::unique_ptr<Session>> Open(backends::Device& device,
                                                       const SessionOptions& options);
  virtual ~Session() = default;

  // Validates the table and copies it into the arena, once the epochs in flight have completed.
  // RESOURCE_EXHAUSTED if it does not fit; evict one first.
  virtual absl::StatusOr<TableHandle> LoadTable(const Table& table) = 0;
  // Frees the arena space once no batch in flight uses it. NOT_FOUND for a stale handle.
  virtual absl::Status EvictTable(TableHandle handle) = 0;

  // Holds from the next epoch on; a batch with pieces of a tenant that may not scan is then
  // PERMISSION_DENIED. INVALID_ARGUMENT if `tenant` is not below geometry().tenants.
  // UNIMPLEMENTED where a session knows no tenants.
  virtual absl::Status SetTenant(uint32_t, TenantRules) {
    return absl::UnimplementedError("this session knows no rules for tenants");
  }

  // Publishes a batch. RESOURCE_EXHAUSTED if slots or batches run out: nothing is then published
  // and the call may be repeated after Next(). INVALID_ARGUMENT for what never fits (pieces of more
  // than batch_bytes in all, or more than max_pieces() of them: a caller cuts) or is out of its own
  // bounds; NOT_FOUND for a stale table.
  virtual absl::StatusOr<BatchId> Submit(const Batch& batch) = 0;
  // Dispatches what was published and not yet dispatched. A batch whose dispatch fails says so in
  // its Next(); an error here means that the session has ended.
  virtual absl::Status Flush() = 0;
  // The oldest batch's result, dispatched first if it was not. A dispatch error or an integrity
  // violation is INTERNAL and gives the batch's slots back: the caller may submit the same pieces
  // again. DEADLINE_EXCEEDED with ended() false: the batch is still in flight. DATA_LOSS and
  // watchdog expiry (DEADLINE_EXCEEDED) abandon the device and end the session; every later call
  // then returns the same error. NOT_FOUND if nothing is in flight.
  virtual absl::StatusOr<BatchResult> Next(backends::Clock::time_point deadline) = 0;

  // True after DATA_LOSS, watchdog expiry or Shutdown(): what was in flight is lost to the session.
  virtual bool ended() const = 0;
  virtual uint32_t batches_in_flight() const = 0;
  virtual uint32_t slots_in_use() const { return 0; }  // published and not yet given back
  virtual uint32_t max_pieces() const = 0;             // of one batch
  virtual const Geometry& geometry() const = 0;
  // kResident or kEpoch: what Open() came to, and why in a sentence.
  virtual SessionPolicy policy() const { return SessionPolicy::kEpoch; }
  virtual std::string policy_reason() const { return {}; }
  virtual uint64_t resident_bytes() const = 0;

  // Owned bytes that the program scanned for each tenant since Open().
  virtual std::span<const uint64_t> served_bytes() const { return {}; }
  virtual const SessionStats& stats() const = 0;
  // A sentence for each debug record of the program since the last call; never any text.
  virtual std::vector<std::string> TakeDebugLog() = 0;

  // Drains (results are dropped), zeroes text buffers and frees. Safe to call twice.
  virtual absl::Status Shutdown(backends::Clock::time_point deadline) = 0;
};

}  // namespace keysieve::megakernel
