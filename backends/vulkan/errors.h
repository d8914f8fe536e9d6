// SPDX-License-Identifier: MIT
// VkResult into absl::Status and fault kinds: the one place where this backend reads vendor codes.
#pragma once

#include <optional>
#include <string_view>

#include "absl/status/status.h"
#include "backends/vulkan/api.h"
#include "evidence/device_recorder.h"

namespace keysieve::backends::vulkan {

std::string_view ResultName(VkResult result);  // "VK_ERROR_DEVICE_LOST"

// `what` says what was being done, e.g. "submitting to device 0". Success codes are OK.
absl::Status StatusOf(VkResult result, std::string_view what);

// The fault this result is on an open device; nothing for success, a timeout or a refusal.
std::optional<evidence::FaultKind> FaultOf(VkResult result);

}  // namespace keysieve::backends::vulkan
