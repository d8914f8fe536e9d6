// SPDX-License-Identifier: MIT
// One blob on its way in: chunks are checked for order, size and duplicates and copied into the
// blob's memory, or counted and dropped where policy or a limit leaves the blob out. Confined to
// its stream.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "daemon/scan_types.h"
#include "daemon/scheduler/admission.h"

namespace keysieve::pipeline {

// The ids a stream has used. Ids in sequence cost nothing; scattered ones are bounded.
class SeenIds {
 public:
  static constexpr size_t kMaxRanges = 1 << 20;
  // False if `id` was there already.
  bool Add(uint64_t id);
  bool full() const { return ranges_.size() >= kMaxRanges; }

 private:
  std::map<uint64_t, uint64_t> ranges_;  // first -> last, disjoint, not adjacent
};

// A whole blob's bytes with the memory they hold; freed together.
struct BlobBytes {
  scheduler::Reservation reservation;
  std::unique_ptr<uint8_t[]> data;
  uint64_t size = 0;
  uint64_t capacity = 0;
  std::span<const uint8_t> view() const { return {data.get(), size}; }
};

struct IncomingBlob {
  uint64_t id = 0;
  std::string path;
  std::string commit;
  std::optional<uint64_t> declared;
  uint64_t received = 0;
  std::shared_ptr<BlobBytes> bytes;  // null: the bytes are dropped, `omission` says why
  std::optional<Omission> omission;
  bool is_gap = false;              // else the omission is an exclusion
  Clock::time_point whole_since{};  // its last byte came
};

// What is wrong with a chunk whatever the stream's state, if anything.
std::optional<Failure> CheckChunk(const Chunk& chunk);
// With the first chunk of a blob.
std::optional<Failure> CheckFirst(const Chunk& chunk, bool seen);
// With a chunk of the blob under way, its data not yet added. Of the first chunk, path and declared
// size have been taken out by then.
std::optional<Failure> CheckNext(const Chunk& chunk, const IncomingBlob& blob);

// Adds the chunk's data. Past the limit of `blob_limit` bytes the blob becomes a gap and its memory
// is given back.
void Append(const Chunk& chunk, uint64_t blob_limit, IncomingBlob& blob);

// The gap of a blob over the limit.
Omission OverLimit(uint64_t bytes, uint64_t blob_limit);

Failure BadChunk(uint64_t blob_id, std::string field, std::string what);

}  // namespace keysieve::pipeline
