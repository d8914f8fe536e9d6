// SPDX-License-Identifier: MIT
// Which backends this build has and which devices they see. Backends are listed by linking them, in
// registry.cc alone; each contributes one BackendEntry. Probing never fails and records nothing: an
// absent driver yields an empty list and a reason.
//
//   for (const Adapter& a : ProbeAdapters(BackendKind::kVulkan).adapters) ...
//   auto device = OpenDevice(adapter.identity, options);
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "backends/device.h"

namespace keysieve::backends {

struct ProbeResult {
  std::vector<Identity> adapters;
  std::string reason;  // why the list is empty; empty otherwise
};

// Backends compiled into this binary, in `auto` order: cuda, vulkan, metal, cpu.
std::vector<BackendKind> BuiltBackends();

// The devices `kind` sees now. A backend that is not built yields a reason that says so.
ProbeResult ProbeAdapters(BackendKind kind);

// UNAVAILABLE if the device is gone or the backend is not built.
absl::StatusOr<std::unique_ptr<Device>> OpenDevice(const Identity& identity,
                                                   const OpenOptions& options);

// What `--backend` and `--device` ask for. `backend` empty = auto.
struct Selection {
  std::string backend;               // "", "auto", "cpu", "cuda", "vulkan", "metal"
  std::vector<std::string> devices;  // indices or UUIDs; empty = all of the winning backend
};
struct Choice {
  std::vector<Identity> devices;  // at least one
  std::string why;                // one sentence for the log and GetStatus
};

// auto: cuda, then hardware Vulkan (no device that another chosen backend already has), then cpu;
// software Vulkan only when named. An explicitly named accelerator that cannot start is
// UNAVAILABLE, never the CPU under another name. An unknown backend name is INVALID_ARGUMENT; an
// unknown device NOT_FOUND and lists what there is.
absl::StatusOr<Choice> SelectDevices(const Selection& selection);

}  // namespace keysieve::backends
