// SPDX-License-Identifier: MIT
// Linked where the build has no vulkan backend.
#include "tests/backends/images/probe_kernel.h"

namespace keysieve::test {

void AddVulkanProbe(backends::Image&) {}

}  // namespace keysieve::test
