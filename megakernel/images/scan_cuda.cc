// SPDX-License-Identifier: MIT
#include "megakernel/images/embedded.h"

extern "C" const std::byte keysieve_scan_cuda_begin[];
extern "C" const std::byte keysieve_scan_cuda_end[];
extern "C" const std::byte keysieve_tuned_cuda_begin[];
extern "C" const std::byte keysieve_tuned_cuda_end[];

namespace keysieve::megakernel {

std::span<const std::byte> CudaScanCode() {
  return {keysieve_scan_cuda_begin,
          static_cast<size_t>(keysieve_scan_cuda_end - keysieve_scan_cuda_begin)};
}

std::span<const std::byte> CudaTunedCode() {
  return {keysieve_tuned_cuda_begin,
          static_cast<size_t>(keysieve_tuned_cuda_end - keysieve_tuned_cuda_begin)};
}

}  // namespace keysieve::megakernel
