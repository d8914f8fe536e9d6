// SPDX-License-Identifier: MIT
// The CUDA backend's entry in the registry.
#include "backends/cuda/adapters.h"
#include "backends/cuda/cuda_device.h"
#include "backends/entry.h"
#include "evidence/base/status.h"

namespace keysieve::backends {
namespace {

// By UUID where there is one: indices change with the environment.
absl::StatusOr<std::unique_ptr<Device>> Open(const Identity& identity, const OpenOptions& options) {
  const ProbeResult seen = cuda::Probe();
  for (const Identity& adapter : seen.adapters) {
    const bool same =
        identity.uuid.empty() ? adapter.index == identity.index : adapter.uuid == identity.uuid;
    if (same) return cuda::OpenCudaDevice(adapter, options);
  }
  return absl::UnavailableError(Cat("cuda device ", identity.index, " (", identity.name,
                                    ") is not there",
                                    seen.reason.empty() ? "; probe again" : ": " + seen.reason));
}

}  // namespace

BackendEntry CudaEntry() {
  return {.kind = BackendKind::kCuda, .built = true, .probe = cuda::Probe, .open = Open};
}

}  // namespace keysieve::backends
