// SPDX-License-Identifier: MIT
// Bytes read as a row of chunks, of any order and size: what is taken is written inside the blob's
// memory, in order, and everything else is refused.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>

#include "daemon/blob_assembly.h"
#include "tests/fuzz/fuzz.h"

namespace {

using namespace keysieve::pipeline;

constexpr uint64_t kLimit = 64;

class Input {
 public:
  Input(const uint8_t* data, size_t size) : data_(data), size_(size) {}
  bool empty() const { return size_ == 0; }
  uint8_t Byte() {
    if (size_ == 0) return 0;
    --size_;
    return *data_++;
  }

 private:
  const uint8_t* data_;
  size_t size_;
};

Chunk ReadChunk(Input& input) {
  Chunk chunk;
  const uint8_t flags = input.Byte();
  chunk.blob_id = input.Byte() % 4;
  if ((flags & 1) != 0) chunk.path = "p";
  if ((flags & 2) != 0) chunk.declared_size = input.Byte();
  chunk.offset = (flags & 4) != 0 ? UINT64_MAX - input.Byte() : input.Byte();
  chunk.last = (flags & 8) != 0;
  chunk.by_reference = (flags & 16) != 0;
  chunk.data = std::string(input.Byte() % 48, static_cast<char>('a' + chunk.blob_id));
  return chunk;
}

// The first chunk of a blob, up to its memory; as the stream does it.
std::optional<IncomingBlob> Begin(Chunk& chunk, SeenIds& seen) {
  if (CheckFirst(chunk, !seen.Add(chunk.blob_id))) return std::nullopt;
  IncomingBlob blob;
  blob.id = chunk.blob_id;
  blob.path = std::move(chunk.path);
  blob.declared = chunk.declared_size;
  chunk.path.clear();
  chunk.declared_size.reset();
  if (blob.declared.value_or(0) > kLimit) {
    blob.omission = OverLimit(*blob.declared, kLimit);
    blob.is_gap = true;
    return blob;
  }
  blob.bytes = std::make_shared<BlobBytes>();
  blob.bytes->capacity = blob.declared.value_or(kLimit);
  blob.bytes->data.reset(new uint8_t[std::max<uint64_t>(blob.bytes->capacity, 1)]);
  return blob;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input input(data, size);
  SeenIds seen;
  std::optional<IncomingBlob> blob;
  while (!input.empty()) {
    Chunk chunk = ReadChunk(input);
    if (CheckChunk(chunk)) continue;
    if (!blob) blob = Begin(chunk, seen);
    if (!blob) continue;
    if (CheckNext(chunk, *blob)) {
      blob.reset();  // the stream would end
      continue;
    }
    const uint64_t before = blob->received;
    Append(chunk, kLimit, *blob);
    KS_MUST(blob->received == before + chunk.data.size());
    KS_MUST(blob->bytes != nullptr || blob->omission);
    if (blob->bytes != nullptr) {
      KS_MUST(blob->bytes->size == blob->received && blob->received <= blob->bytes->capacity);
      for (uint8_t byte : blob->bytes->view()) KS_MUST(byte == 'a' + blob->id);
    }
    if (chunk.last) blob.reset();
  }
  return 0;
}
