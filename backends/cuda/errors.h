// SPDX-License-Identifier: MIT
// CUDA's results into absl::Status and fault kinds: the one place where this backend reads vendor
// codes. Runtime and driver results share their numbers.
#pragma once

#include <cuda_runtime_api.h>

#include <optional>
#include <string_view>

#include "absl/status/status.h"
#include "evidence/device_recorder.h"

namespace keysieve::backends::cuda {

// `what` says what was being done, e.g. "launching \"scan\"".
absl::Status StatusOf(cudaError_t result, std::string_view what);

// The fault this result is on an open device; nothing for success, "not ready" or a refusal. After
// a kDeviceLost the process cannot use the device any more: CUDA repeats the error on every call.
std::optional<evidence::FaultKind> FaultOf(cudaError_t result);

}  // namespace keysieve::backends::cuda
