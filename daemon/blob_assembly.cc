// SPDX-License-Identifier: MIT
// Checks on chunks, one message each; see blob_assembly.h.
#include "daemon/blob_assembly.h"

#include <cstring>

#include "evidence/base/status.h"

namespace keysieve::pipeline {

const char* ReasonName(Reason reason) {
  switch (reason) {
    case Reason::kBlobLimit:
      return "blob_limit";
    case Reason::kUndecodable:
      return "undecodable";
    case Reason::kDecodeLimit:
      return "decode_limit";
    case Reason::kAllowlistedPath:
      return "allowlisted_path";
  }
  return "unknown";
}

bool SeenIds::Add(uint64_t id) {
  auto next = ranges_.upper_bound(id);
  if (next != ranges_.begin()) {
    auto before = std::prev(next);
    if (id <= before->second) return false;
    if (id == before->second + 1) {
      before->second = id;
      if (next != ranges_.end() && next->first == id + 1) {
        before->second = next->second;
        ranges_.erase(next);
      }
      return true;
    }
  }
  if (next != ranges_.end() && next->first == id + 1) {
    const uint64_t last = next->second;
    ranges_.erase(next);
    ranges_[id] = last;
    return true;
  }
  ranges_[id] = id;
  return true;
}

Failure BadChunk(uint64_t blob_id, std::string field, std::string what) {
  return {.code = absl::StatusCode::kInvalidArgument,
          .reason = "BAD_CHUNK",
          .message = Cat("blob ", blob_id, ": ", what),
          .field = "chunks." + std::move(field)};
}

std::optional<Failure> CheckChunk(const Chunk& chunk) {
  if (chunk.by_reference) {
    return Failure{.code = absl::StatusCode::kUnimplemented,
                   .reason = "REGION_REFERENCE",
                   .message = Cat("blob ", chunk.blob_id,
                                  ": shared memory regions are not served; send data instead"),
                   .field = "chunks.region"};
  }
  if (chunk.data.size() > kMaxChunkBytes) {
    return BadChunk(chunk.blob_id, "data",
                    Cat("a chunk of ", chunk.data.size(), " bytes exceeds the limit of ",
                        kMaxChunkBytes, "; send smaller ones"));
  }
  return std::nullopt;
}

std::optional<Failure> CheckFirst(const Chunk& chunk, bool seen) {
  if (seen) {
    return BadChunk(chunk.blob_id, "blob_id", "this id was used before in this stream");
  }
  if (chunk.offset != 0) {
    return BadChunk(chunk.blob_id, "offset",
                    Cat("its first chunk has offset ", chunk.offset, " instead of 0"));
  }
  if (chunk.path.size() > kMaxPathBytes) {
    return BadChunk(
        chunk.blob_id, "path",
        Cat("a path of ", chunk.path.size(), " bytes exceeds the limit of ", kMaxPathBytes));
  }
  return std::nullopt;
}

std::optional<Failure> CheckNext(const Chunk& chunk, const IncomingBlob& blob) {
  if (chunk.blob_id != blob.id) {
    return BadChunk(chunk.blob_id, "blob_id",
                    Cat("it begins before blob ", blob.id, " has had its last chunk"));
  }
  if (!chunk.path.empty() || chunk.declared_size.has_value()) {
    return BadChunk(blob.id, "path", "path and declared_size belong to its first chunk only");
  }
  if (chunk.offset != blob.received) {
    return BadChunk(blob.id, "offset",
                    Cat("a chunk has offset ", chunk.offset, " after ", blob.received, " bytes"));
  }
  const uint64_t after = blob.received + chunk.data.size();
  if (blob.declared && after > *blob.declared) {
    return BadChunk(blob.id, "data",
                    Cat(after, " bytes came of a blob declared with ", *blob.declared));
  }
  if (blob.declared && chunk.last && after != *blob.declared) {
    return BadChunk(blob.id, "last",
                    Cat("it ended after ", after, " of ", *blob.declared, " declared bytes"));
  }
  return std::nullopt;
}

Omission OverLimit(uint64_t bytes, uint64_t blob_limit) {
  return {.reason = Reason::kBlobLimit,
          .start = 0,
          .end = bytes,
          .detail =
              Cat("larger than the daemon's limit of ", blob_limit, " bytes (limits.blob_bytes)")};
}

void Append(const Chunk& chunk, uint64_t blob_limit, IncomingBlob& blob) {
  const uint64_t after = blob.received + chunk.data.size();
  if (blob.bytes != nullptr && after > blob_limit) {
    blob.bytes.reset();
    blob.omission = OverLimit(after, blob_limit);
    blob.is_gap = true;
  }
  if (blob.bytes != nullptr && !chunk.data.empty()) {
    std::memcpy(blob.bytes->data.get() + blob.received, chunk.data.data(), chunk.data.size());
    blob.bytes->size = after;
  }
  blob.received = after;
}

}  // namespace keysieve::pipeline
