// SPDX-License-Identifier: MIT
// The device program in each device's language, embedded in the binary. Which of them exist is
// decided by linking: a build without CUDA has no CUDA image and says so.
//
//   auto image = ScanImage(device.identity().backend, 256);
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "backends/device.h"

namespace keysieve::megakernel {

// The scan program for `backend` with `workgroup` invocations a workgroup. The image points at
// static storage. UNAVAILABLE if this build has none for the backend.
absl::StatusOr<backends::Image> ScanImage(backends::BackendKind backend, uint32_t workgroup);

// The same with the backend's own matcher where it has one, else as above.
absl::StatusOr<backends::Image> TunedImage(backends::BackendKind backend, uint32_t workgroup,
                                           const backends::Limits& limits);

// The program that stays on the device. UNAVAILABLE where the backend or this build has none.
// Launch it as megakernel/resident.inl says.
absl::StatusOr<backends::Image> ResidentImage(backends::BackendKind backend,
                                              const backends::Limits& limits);

// How many slots one workgroup of `image` works on at a time.
uint32_t WorkersOf(const backends::Image& image);

}  // namespace keysieve::megakernel
