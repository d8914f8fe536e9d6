// SPDX-License-Identifier: MIT
// Linked in place of the vulkan backend where the build has none.
#include "backends/entry.h"

namespace keysieve::backends {

BackendEntry VulkanEntry() { return AbsentEntry<BackendKind::kVulkan>(); }

}  // namespace keysieve::backends
