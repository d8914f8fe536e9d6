// SPDX-License-Identifier: MIT
// Memory, programs and submissions that live in host memory: what the CPU device and the tests'
// fake device share. Runs copies and host kernels; knows no threads, no clock and no tickets.
//
//   HostWork work = HostWork::Retain(submission);
//   work.RunFillsAndUploads();
//   work.RunLaunch(InlineRunner);
//   work.RunReadbacks();
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "backends/device.h"
#include "backends/owned.h"

namespace keysieve::backends {

// Bytes aligned to 64, taken from a budget and given back at the end.
class HostMemory {
 public:
  // RESOURCE_EXHAUSTED if the budget or the host has no more.
  static absl::StatusOr<std::shared_ptr<HostMemory>> Create(std::shared_ptr<MemoryBudget> budget,
                                                            uint64_t bytes);
  HostMemory(std::shared_ptr<MemoryBudget> budget, std::byte* data, uint64_t bytes)
      : budget_(std::move(budget)), data_(data), bytes_(bytes) {}
  ~HostMemory();
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;

  std::byte* data() { return data_; }

 private:
  const std::shared_ptr<MemoryBudget> budget_;
  std::byte* const data_;
  const uint64_t bytes_;
};

// Work in flight holds the memory, so a buffer may go before its work does.
class HostBuffer : public OwnedBuffer {
 public:
  HostBuffer(OwnerId owner, MemoryKind kind, uint64_t size, std::shared_ptr<HostMemory> memory)
      : OwnedBuffer(owner, kind, size), memory_(std::move(memory)) {}
  std::byte* host() const override {
    return kind() == MemoryKind::kPinned ? memory_->data() : nullptr;
  }
  const std::shared_ptr<HostMemory>& memory() const { return memory_; }

 private:
  const std::shared_ptr<HostMemory> memory_;
};

class HostProgram final : public OwnedProgram {
 public:
  HostProgram(OwnerId owner, const Image& image)
      : OwnedProgram(owner, image), kernel_(image.host), state_(image.host_state) {}
  HostKernel kernel() const { return kernel_; }
  const std::shared_ptr<HostState>& state() const { return state_; }

 private:
  const HostKernel kernel_;
  const std::shared_ptr<HostState> state_;
};

// INVALID_ARGUMENT if the image has no host kernel; the rest is CheckImage()'s.
absl::Status CheckHostImage(const Image& image);

// Calls run(i) once for each i below `count`, in any order and on any threads, and returns after
// the last.
using WorkgroupRunner =
    std::function<void(uint32_t count, const std::function<void(uint32_t)>& run)>;
void RunInline(uint32_t count, const std::function<void(uint32_t)>& run);

// A submission with what it borrowed made its own. Made from a submission that passed
// CheckSubmission() for the buffers' owner.
class HostWork {
 public:
  static HostWork Retain(const Submission& submission);

  bool launches() const { return kernel_ != nullptr; }
  void RunFillsAndUploads() const;
  void RunLaunch(const WorkgroupRunner& runner) const;
  void RunReadbacks() const;
  // The readbacks' bytes as they are now, one vector a readback, and their later delivery.
  std::vector<std::vector<std::byte>> SnapshotReadbacks() const;
  void Deliver(std::span<const std::vector<std::byte>> snapshot) const;

 private:
  struct Range {
    std::shared_ptr<HostMemory> memory;
    uint64_t offset = 0;
    uint64_t bytes = 0;
    std::byte* data() const { return memory->data() + offset; }
  };
  struct HostFill {
    Range range;
    uint32_t word = 0;
  };
  struct HostCopy {
    Range from;
    Range to;
  };
  static Range Retain(const BufferRange& range);
  static std::vector<HostCopy> Retain(std::span<const Copy> copies);
  static void Run(std::span<const HostCopy> copies);

  std::vector<HostFill> fills_;
  std::vector<HostCopy> uploads_;
  std::vector<HostCopy> readbacks_;
  HostKernel kernel_ = nullptr;
  std::shared_ptr<HostState> state_;
  std::vector<Range> bindings_;
  std::vector<uint32_t> constants_;
  uint32_t workgroups_ = 0;
};

}  // namespace keysieve::backends
