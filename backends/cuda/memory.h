// SPDX-License-Identifier: MIT
// Device and pinned memory. Freeing waits for a resident kernel to stop, so owners free after it
// has.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "backends/cuda/context.h"
#include "backends/owned.h"

namespace keysieve::backends::cuda {

class CudaBuffer final : public OwnedBuffer {
 public:
  static absl::StatusOr<std::unique_ptr<CudaBuffer>> Create(std::shared_ptr<Context> context,
                                                            MemoryKind kind, uint64_t bytes);
  ~CudaBuffer() override;

  std::byte* host() const override { return kind() == MemoryKind::kPinned ? host_ : nullptr; }
  std::byte* address() const { return address_; }  // as kernels and copies see it

 private:
  CudaBuffer(std::shared_ptr<Context> context, MemoryKind kind, uint64_t bytes)
      : OwnedBuffer(context.get(), kind, bytes), context_(std::move(context)) {}
  absl::Status Allocate();

  const std::shared_ptr<Context> context_;
  std::byte* host_ = nullptr;
  std::byte* address_ = nullptr;
};

// Where a range begins on the device. The range passed the shared checks.
std::byte* AddressOf(const BufferRange& range);

}  // namespace keysieve::backends::cuda
