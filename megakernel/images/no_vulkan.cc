// SPDX-License-Identifier: MIT
#include "megakernel/images/embedded.h"

namespace keysieve::megakernel {

std::span<const std::byte> VulkanScanCode() { return {}; }
std::span<const std::byte> VulkanQueuedCode() { return {}; }
std::span<const std::byte> VulkanSubgroupCode() { return {}; }

}  // namespace keysieve::megakernel
