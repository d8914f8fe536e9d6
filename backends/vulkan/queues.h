// SPDX-License-Identifier: MIT
// Which queue families a device's work goes to.
#pragma once

#include <cstdint>
#include <optional>

#include "backends/vulkan/api.h"

namespace keysieve::backends::vulkan {

struct QueueFamily {
  uint32_t index = 0;
  uint32_t timestamp_bits = 0;  // 0: the family has no timestamps
};

// Kernels and readbacks run on `compute`; uploads on `transfer` where a family for copies alone
// exists, so that they overlap kernels.
struct QueueFamilies {
  QueueFamily compute;
  std::optional<QueueFamily> transfer;
};

// Nothing if the device has no compute queue.
std::optional<QueueFamilies> FindQueues(const InstanceFunctions& functions,
                                        VkPhysicalDevice device);

}  // namespace keysieve::backends::vulkan
