// SPDX-License-Identifier: MIT
// A Vulkan device behind the device contract. The time of a submission runs from Submit() until the
// host first sees it complete, in Done() or Wait(); stages are timed by the device.
//
//   auto instance = *vulkan::Instance::Create({});
//   auto device = vulkan::OpenVulkanDevice(instance, adapter, options);
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "backends/device.h"
#include "backends/vulkan/instance.h"

namespace keysieve::backends::vulkan {

// UNAVAILABLE if the driver refuses; nothing is then recorded.
absl::StatusOr<std::unique_ptr<Device>> OpenVulkanDevice(std::shared_ptr<Instance> instance,
                                                         const Adapter& adapter,
                                                         const OpenOptions& options);

}  // namespace keysieve::backends::vulkan
