// SPDX-License-Identifier: MIT
// What every backend's buffers and programs have in common: whose they are and what they take. The
// shared checks (check.h) read it, so that a foreign buffer or a wrong launch is refused alike
// everywhere.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "backends/device.h"

namespace keysieve::backends {

// Identifies one open device; compared, never dereferenced.
using OwnerId = const void*;

class OwnedBuffer : public Buffer {
 public:
  OwnedBuffer(OwnerId owner, MemoryKind kind, uint64_t size)
      : owner_(owner), kind_(kind), size_(size) {}
  OwnedBuffer(const OwnedBuffer&) = delete;
  OwnedBuffer& operator=(const OwnedBuffer&) = delete;

  OwnerId owner() const { return owner_; }
  MemoryKind kind() const override { return kind_; }
  uint64_t size() const override { return size_; }

 private:
  const OwnerId owner_;
  const MemoryKind kind_;
  const uint64_t size_;  // bytes
};

// What a launch of a program must bring along.
struct ProgramShape {
  std::string name;
  uint32_t bindings = 0;
  uint32_t constants = 0;  // 32-bit words
  uint32_t workgroup_size = 1;
  uint32_t shared_bytes = 0;
};

class OwnedProgram : public Program {
 public:
  OwnedProgram(OwnerId owner, const Image& image)
      : owner_(owner),
        shape_{std::string(image.name), image.bindings, image.constants, image.workgroup_size,
               image.shared_bytes} {}
  OwnedProgram(const OwnedProgram&) = delete;
  OwnedProgram& operator=(const OwnedProgram&) = delete;

  OwnerId owner() const { return owner_; }
  const ProgramShape& shape() const { return shape_; }

 private:
  const OwnerId owner_;
  const ProgramShape shape_;
};

// Bytes a device may still give out. Shared by a device and its buffers; any thread.
class MemoryBudget {
 public:
  explicit MemoryBudget(uint64_t limit) : limit_(limit) {}

  // RESOURCE_EXHAUSTED if `bytes` more would pass the limit; nothing is then taken.
  absl::Status Take(uint64_t bytes);
  void GiveBack(uint64_t bytes) { taken_.fetch_sub(bytes); }

 private:
  const uint64_t limit_;
  std::atomic<uint64_t> taken_{0};
};

}  // namespace keysieve::backends
