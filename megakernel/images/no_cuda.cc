// SPDX-License-Identifier: MIT
#include "megakernel/images/embedded.h"

namespace keysieve::megakernel {

std::span<const std::byte> CudaScanCode() { return {}; }
std::span<const std::byte> CudaTunedCode() { return {}; }

}  // namespace keysieve::megakernel
