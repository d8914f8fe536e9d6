// SPDX-License-Identifier: MIT
// A CUDA device behind the device contract. Every time is the device's own, from events. Nothing on
// the way of a submission blocks the host; Wait() polls, first busily, then at leisure.
//
//   auto device = cuda::OpenCudaDevice(identity, options);
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "backends/device.h"

namespace keysieve::backends::cuda {

// UNAVAILABLE if the device is gone or does not start.
absl::StatusOr<std::unique_ptr<Device>> OpenCudaDevice(const Identity& identity,
                                                       const OpenOptions& options);

}  // namespace keysieve::backends::cuda
