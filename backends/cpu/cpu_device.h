// SPDX-License-Identifier: MIT
// The CPU as a device: host kernels on a thread pool, submissions run in order by one worker. It is
// no accelerator: it calls no recorder and claims no capability. Times are the steady clock's.
//
//   auto device = OpenCpuDevice({.cpu_threads = 4});
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "backends/device.h"

namespace keysieve::backends {

Identity CpuIdentity();

// `options.recorder` is ignored. Fails only if the host has no threads left (RESOURCE_EXHAUSTED).
absl::StatusOr<std::unique_ptr<Device>> OpenCpuDevice(const OpenOptions& options);

}  // namespace keysieve::backends
