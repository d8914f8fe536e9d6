// SPDX-License-Identifier: MIT
// Allocates and frees.
#include "backends/cuda/memory.h"

#include "evidence/base/status.h"

namespace keysieve::backends::cuda {

absl::StatusOr<std::unique_ptr<CudaBuffer>> CudaBuffer::Create(std::shared_ptr<Context> context,
                                                               MemoryKind kind, uint64_t bytes) {
  std::unique_ptr<CudaBuffer> buffer(new CudaBuffer(std::move(context), kind, bytes));
  KS_RETURN_IF_ERROR(buffer->Allocate());
  return buffer;
}

absl::Status CudaBuffer::Allocate() {
  void* memory = nullptr;
  const std::string what = Cat("allocating ", size(), " bytes");
  if (kind() == MemoryKind::kPinned) {
    KS_RETURN_IF_ERROR(context_->Check(
        cudaHostAlloc(&memory, size(), cudaHostAllocPortable | cudaHostAllocMapped), what));
    host_ = static_cast<std::byte*>(memory);
    void* mapped = nullptr;
    KS_RETURN_IF_ERROR(context_->Check(cudaHostGetDevicePointer(&mapped, memory, 0), what));
    address_ = static_cast<std::byte*>(mapped);
  } else {
    KS_RETURN_IF_ERROR(context_->Check(cudaMalloc(&memory, size()), what));
    address_ = static_cast<std::byte*>(memory);
  }
  if (context_->recorder() != nullptr) context_->recorder()->Allocated(size());
  return absl::OkStatus();
}

CudaBuffer::~CudaBuffer() {
  if (context_->abandoned()) return;
  // Results are of no use here: a lost device's memory is gone with it.
  cudaSetDevice(context_->identity().index);
  if (host_ != nullptr) {
    cudaFreeHost(host_);
  } else if (address_ != nullptr) {
    cudaFree(address_);
  }
  if (address_ != nullptr && context_->recorder() != nullptr) context_->recorder()->Freed(size());
}

std::byte* AddressOf(const BufferRange& range) {
  return static_cast<const CudaBuffer*>(range.buffer)->address() + range.offset;
}

}  // namespace keysieve::backends::cuda
