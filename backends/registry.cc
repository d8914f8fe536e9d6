// SPDX-License-Identifier: MIT
// The list of backends, in `auto` order.
#include "backends/registry.h"

#include <array>

#include "backends/entry.h"
#include "backends/selection.h"
#include "evidence/base/status.h"

namespace keysieve::backends {
namespace {

std::array<BackendEntry, 4> Entries() {
  return {CudaEntry(), VulkanEntry(), MetalEntry(), CpuEntry()};
}

}  // namespace

std::vector<BackendKind> BuiltBackends() {
  std::vector<BackendKind> built;
  for (const BackendEntry& entry : Entries()) {
    if (entry.built) built.push_back(entry.kind);
  }
  return built;
}

ProbeResult ProbeAdapters(BackendKind kind) {
  for (const BackendEntry& entry : Entries()) {
    if (entry.kind == kind) return entry.probe();
  }
  return {{}, Cat("no backend has the number ", static_cast<int>(kind))};
}

absl::StatusOr<std::unique_ptr<Device>> OpenDevice(const Identity& identity,
                                                   const OpenOptions& options) {
  for (const BackendEntry& entry : Entries()) {
    if (entry.kind == identity.backend) return entry.open(identity, options);
  }
  return absl::UnavailableError(
      Cat("no backend has the number ", static_cast<int>(identity.backend)));
}

absl::StatusOr<Choice> SelectDevices(const Selection& selection) {
  return SelectDevicesAmong(selection, ProbeAdapters);
}

}  // namespace keysieve::backends
