// SPDX-License-Identifier: MIT
// One opened CUDA device and what its buffers, programs and flights share. After Abandon() nothing
// is freed: with a hung kernel, freeing blocks for ever.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <memory>
#include <string_view>

#include "absl/status/statusor.h"
#include "backends/device.h"
#include "backends/faults.h"

namespace keysieve::backends::cuda {

// Driver functions the runtime does not wrap, looked up through it: nothing links libcuda.
struct DriverFunctions {
  decltype(&cuMemsetD32Async) memset32 = nullptr;
  decltype(&cuStreamWriteValue32) write_word = nullptr;
};

class Context {
 public:
  // Makes the device's primary context. UNAVAILABLE if it cannot.
  static absl::StatusOr<std::shared_ptr<Context>> Create(const Identity& identity,
                                                         evidence::DeviceRecorder* recorder);

  const Identity& identity() const { return identity_; }
  const Limits& limits() const { return limits_; }
  const DriverFunctions& driver() const { return driver_; }
  uint32_t threads_per_multiprocessor() const { return threads_per_multiprocessor_; }
  evidence::DeviceRecorder* recorder() const { return recorder_; }

  // Makes the device current on the calling thread, which need not be the one that opened it.
  absl::Status Use();
  // The status of a call on the open device; records its fault.
  absl::Status Check(cudaError_t result, std::string_view what);
  absl::Status Check(CUresult result, std::string_view what) {
    return Check(static_cast<cudaError_t>(result), what);
  }
  bool lost() const { return faults_.lost(); }
  void Abandon() { abandoned_ = true; }
  bool abandoned() const { return abandoned_; }

 private:
  Context(const Identity& identity, evidence::DeviceRecorder* recorder)
      : identity_(identity), recorder_(recorder), faults_(recorder) {}
  absl::Status Open();

  const Identity identity_;
  evidence::DeviceRecorder* const recorder_;
  FaultLog faults_;
  Limits limits_;
  uint32_t threads_per_multiprocessor_ = 0;
  DriverFunctions driver_;
  bool abandoned_ = false;
};

}  // namespace keysieve::backends::cuda
