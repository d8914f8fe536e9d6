// SPDX-License-Identifier: MIT
#include "megakernel/images/embedded.h"

namespace keysieve::megakernel {

std::span<const std::byte> VulkanScanCode() { return {}; }

}  // namespace keysieve::megakernel
