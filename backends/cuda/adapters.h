// SPDX-License-Identifier: MIT
// Which CUDA devices there are. Looking makes no context on any of them and records nothing.
#pragma once

#include <cuda_runtime_api.h>

#include "backends/device.h"
#include "backends/registry.h"

namespace keysieve::backends::cuda {

// Devices of compute capability 8.0 and up, which the fat binaries are built for. `identity.index`
// is CUDA's own. An absent driver gives an empty list and the runtime's reason.
ProbeResult Probe();

Limits LimitsOf(const cudaDeviceProp& properties);

}  // namespace keysieve::backends::cuda
