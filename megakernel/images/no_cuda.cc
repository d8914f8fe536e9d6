// SPDX-License-Identifier: MIT
#include "megakernel/images/embedded.h"

namespace keysieve::megakernel {

std::span<const std::byte> CudaScanCode() { return {}; }

}  // namespace keysieve::megakernel
