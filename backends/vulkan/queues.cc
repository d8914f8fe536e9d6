// SPDX-License-Identifier: MIT
// Chooses queue families: compute without graphics before compute with it, and copies alone.
#include "backends/vulkan/queues.h"

#include <vector>

namespace keysieve::backends::vulkan {
namespace {

// What a family for copies alone may offer; video families copy too but are no copy engines.
constexpr VkQueueFlags kCopying =
    VK_QUEUE_TRANSFER_BIT | VK_QUEUE_SPARSE_BINDING_BIT | VK_QUEUE_PROTECTED_BIT;

}  // namespace

std::optional<QueueFamilies> FindQueues(const InstanceFunctions& functions,
                                        VkPhysicalDevice device) {
  uint32_t count = 0;
  functions.vkGetPhysicalDeviceQueueFamilyProperties(device, &count, nullptr);
  std::vector<VkQueueFamilyProperties> families(count);
  functions.vkGetPhysicalDeviceQueueFamilyProperties(device, &count, families.data());
  std::optional<QueueFamily> compute, compute_alone, transfer;
  for (uint32_t i = 0; i < count; ++i) {
    const VkQueueFlags flags = families[i].queueFlags;
    const QueueFamily family{i, families[i].timestampValidBits};
    const bool computes = (flags & VK_QUEUE_COMPUTE_BIT) != 0;
    const bool draws = (flags & VK_QUEUE_GRAPHICS_BIT) != 0;
    if (computes && !compute) compute = family;
    if (computes && !draws && !compute_alone) compute_alone = family;
    const bool copies_alone = (flags & VK_QUEUE_TRANSFER_BIT) != 0 && (flags & ~kCopying) == 0;
    if (copies_alone && !transfer) transfer = family;
  }
  if (!compute) return std::nullopt;
  return QueueFamilies{compute_alone ? *compute_alone : *compute, transfer};
}

}  // namespace keysieve::backends::vulkan
