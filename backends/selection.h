// SPDX-License-Identifier: MIT
// Turns `--backend` and `--device` into devices, given what a probe sees. The rules of
// SelectDevices() live here, apart from real drivers, so that tests can feed any machine.
//
//   auto choice = SelectDevicesAmong({.backend = "auto"}, ProbeAdapters);
#pragma once

#include <functional>

#include "absl/status/statusor.h"
#include "backends/registry.h"

namespace keysieve::backends {

using ProbeFunction = std::function<ProbeResult(BackendKind)>;

// As SelectDevices(), with `probe` in place of the drivers. `probe` is called at most once a
// backend.
absl::StatusOr<Choice> SelectDevicesAmong(const Selection& selection, const ProbeFunction& probe);

}  // namespace keysieve::backends
