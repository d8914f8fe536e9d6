// SPDX-License-Identifier: MIT
// The names backends go by on the command line, in the configuration and in labels.
#include <array>
#include <string_view>
#include <utility>

#include "backends/device.h"
#include "evidence/base/status.h"

namespace keysieve::backends {
namespace {

constexpr std::array<std::pair<BackendKind, std::string_view>, 4> kNames = {{
    {BackendKind::kCpu, "cpu"},
    {BackendKind::kCuda, "cuda"},
    {BackendKind::kMetal, "metal"},
    {BackendKind::kVulkan, "vulkan"},
}};

}  // namespace

std::string_view BackendName(BackendKind kind) {
  for (const auto& [known, name] : kNames) {
    if (known == kind) return name;
  }
  return "unknown";
}

absl::StatusOr<BackendKind> ParseBackendName(std::string_view name) {
  for (const auto& [kind, known] : kNames) {
    if (known == name) return kind;
  }
  return absl::InvalidArgumentError(
      Cat("unknown backend \"", name, "\"; use auto, cpu, cuda, metal or vulkan"));
}

}  // namespace keysieve::backends
