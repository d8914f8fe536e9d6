// SPDX-License-Identifier: MIT
// Opens a session with what memory the device has left: as the settings say, then with a smaller
// geometry, step by step. A smaller geometry never changes a result, it only costs speed; each step
// and its reason are said.
//
//   auto session = OpenSession(*device, options, [&](const std::string& sentence) { ... });
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "megakernel/session.h"

namespace keysieve::scheduler {

// `asked`, then what is tried when memory does not suffice, each smaller than the one before: fewer
// batches in flight, less text in each, fewer hits, at last half the tables. Never empty.
std::vector<megakernel::Geometry> GeometrySteps(const megakernel::Geometry& asked);

// The first geometry the device has memory for. RESOURCE_EXHAUSTED names the smallest one tried;
// any other error is the device's own and is returned at once. Lane thread.
absl::StatusOr<std::unique_ptr<megakernel::Session>> OpenSession(
    backends::Device& device, const megakernel::SessionOptions& options,
    const std::function<void(const std::string&)>& say);

}  // namespace keysieve::scheduler
