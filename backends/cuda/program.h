// SPDX-License-Identifier: MIT
// A fat binary loaded as a library, and the kernel in it. Loaded eagerly: under lazy loading a
// first launch would wait for a resident kernel to end.
#pragma once

#include <memory>
#include <span>

#include "absl/status/statusor.h"
#include "backends/cuda/context.h"
#include "backends/owned.h"

namespace keysieve::backends::cuda {

// INVALID_ARGUMENT unless `code` is one whole fat binary by its own header.
absl::Status CheckFatBinary(std::string_view name, std::span<const std::byte> code);

class CudaProgram final : public OwnedProgram {
 public:
  static absl::StatusOr<std::unique_ptr<CudaProgram>> Create(std::shared_ptr<Context> context,
                                                             const Image& image);
  ~CudaProgram() override;

  // Puts a checked launch on `stream`. See calling_convention.h.
  absl::Status Enqueue(const Launch& launch, cudaStream_t stream) const;

  // Threads that can be resident on a multiprocessor, of those that it has room for: 0 to 1.
  double occupancy() const { return occupancy_; }

 private:
  CudaProgram(std::shared_ptr<Context> context, const Image& image)
      : OwnedProgram(context.get(), image), context_(std::move(context)) {}
  absl::Status LoadCode(const Image& image);
  absl::Status ReadKernel();

  const std::shared_ptr<Context> context_;
  cudaLibrary_t library_ = nullptr;
  cudaKernel_t kernel_ = nullptr;
  double occupancy_ = 0;
};

}  // namespace keysieve::backends::cuda
