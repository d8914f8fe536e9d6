// SPDX-License-Identifier: MIT
// Turns waiting jobs into batches. Requests take turns, each with a fair share of a batch; small
// blobs are packed together, a blob larger than its share is cut into pieces. A piece owns a range
// and reads a margin beyond it, so that a hit across a cut is reported once, by the piece it starts
// in. Belongs to one lane thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <unordered_map>
#include <vector>

#include "daemon/scheduler/matcher.h"

namespace keysieve::scheduler {

// A job under way: what has been cut off, what is out on the device, what has come back.
struct ActiveJob {
  MatchJob job;
  uint64_t cut = 0;         // bytes already given to pieces
  uint32_t pieces_out = 0;  // cut and not yet back
  // Answered: later results are dropped. Whoever supervises a stuck lane sets it too.
  std::atomic<bool> left{false};
  std::vector<megakernel::LiteralHit> hits;
  uint64_t device_ns = 0;  // this blob's part of what its batches took
  bool whole() const { return cut == job.bytes.size(); }
  bool cancelled() const { return job.cancelled != nullptr && job.cancelled->load(); }
};

struct CutPiece {
  std::shared_ptr<ActiveJob> job;
  uint64_t begin = 0;        // in the blob
  uint32_t owned_bytes = 0;  // hits that start in the first so many bytes
  uint32_t text_bytes = 0;   // readable, margin included
};

// Pieces of one table, ready to be submitted.
struct PackedBatch {
  std::shared_ptr<const megakernel::Table> table;
  std::vector<CutPiece> pieces;
  uint32_t attempt = 0;
  // The profiled scans among its pieces, each once.
  std::vector<evidence::ContextId> ProfiledScans() const;
  // Shares the kernel time out among the pieces' blobs by bytes; the parts add up to it exactly.
  void Charge(uint64_t device_ns) const;
};

class Packer {
 public:
  void Add(std::shared_ptr<ActiveJob> job);
  bool empty() const { return turn_.empty(); }
  size_t jobs() const { return jobs_; }

  // The next batch: at most `max_bytes` of text in at most `max_pieces`. Empty if nothing waits.
  PackedBatch Pack(uint64_t max_bytes, uint32_t max_pieces);

  // Takes out the jobs of every request that was cancelled. Looks at each request once, however
  // many jobs it has: they share one flag.
  std::vector<std::shared_ptr<ActiveJob>> TakeCancelled();
  // Takes everything out.
  std::vector<std::shared_ptr<ActiveJob>> Clear();

 private:
  using Queue = std::deque<std::shared_ptr<ActiveJob>>;
  void TakeFrom(Queue& queue, uint64_t share, uint64_t max_bytes, uint32_t max_pieces,
                uint64_t& used, PackedBatch& batch);

  std::unordered_map<uint64_t, Queue> queues_;  // by request, never empty
  std::deque<uint64_t> turn_;                   // requests, each once
  size_t jobs_ = 0;
};

}  // namespace keysieve::scheduler
