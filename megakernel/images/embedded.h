// SPDX-License-Identifier: MIT
// Where an embedded image lies, for images.cc alone. One file per backend defines each function,
// and a build links either the file with the image or the one that says there is none.
#pragma once

#include <cstddef>
#include <span>

#include "backends/device.h"

namespace keysieve::megakernel {

void RunScanOnCpu(const backends::HostWorkgroup& workgroup);
// SPIR-V; empty if not built. The shared body; with queues; with queues and subgroup operations.
std::span<const std::byte> VulkanScanCode();
std::span<const std::byte> VulkanQueuedCode();
std::span<const std::byte> VulkanSubgroupCode();
std::span<const std::byte> CudaScanCode();   // fat binary; empty if not built
std::span<const std::byte> CudaTunedCode();  // fat binary; empty if not built

}  // namespace keysieve::megakernel
