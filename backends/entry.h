// SPDX-License-Identifier: MIT
// What one backend contributes to the registry: how to look for its devices and how to open one.
// Which *_entry.cc or *_absent.cc is linked decides what a build has; nothing registers itself.
//
//   BackendEntry entry = VulkanEntry();
//   if (entry.built) ProbeResult seen = entry.probe();
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "backends/device.h"
#include "backends/registry.h"
#include "evidence/base/status.h"

namespace keysieve::backends {

struct BackendEntry {
  BackendKind kind = BackendKind::kCpu;
  bool built = false;
  ProbeResult (*probe)() = nullptr;
  absl::StatusOr<std::unique_ptr<Device>> (*open)(const Identity&, const OpenOptions&) = nullptr;
};

BackendEntry CpuEntry();
BackendEntry CudaEntry();
BackendEntry VulkanEntry();
BackendEntry MetalEntry();

// The entry of a backend that this build does not contain.
template <BackendKind kKind>
BackendEntry AbsentEntry() {
  return {
      .kind = kKind,
      .built = false,
      .probe =
          [] {
            return ProbeResult{{}, Cat("this build has no ", BackendName(kKind), " backend")};
          },
      .open = [](const Identity&, const OpenOptions&) -> absl::StatusOr<std::unique_ptr<Device>> {
        return absl::UnavailableError(Cat("this build has no ", BackendName(kKind), " backend"));
      }};
}

}  // namespace keysieve::backends
