// SPDX-License-Identifier: MIT
// The host's version of the probe program, and the choice among the versions.
#include "tests/backends/images/probe_kernel.h"

#include <algorithm>
#include <atomic>

namespace keysieve::test {
namespace {

std::span<uint32_t> Words(std::span<std::byte> bytes) {
  return {reinterpret_cast<uint32_t*>(bytes.data()), bytes.size() / sizeof(uint32_t)};
}

void ProbeOnHost(const backends::HostWorkgroup& group) {
  const std::span<uint32_t> in = Words(group.bindings[0]);
  const std::span<uint32_t> out = Words(group.bindings[1]);
  std::atomic_ref<uint32_t> tally(Words(group.bindings[2])[0]);
  const uint32_t count = group.constants[0];
  const uint32_t addend = group.constants[1];
  const uint32_t rounds = group.constants[2];
  const uint32_t begin = group.workgroup * kProbeWidth;
  for (uint32_t i = begin; i < std::min(count, begin + kProbeWidth); ++i) {
    uint32_t x = in[i];
    for (uint32_t r = 0; r < rounds; ++r) x = x * 1664525u + 1013904223u;
    out[i] = x + addend;
    tally.fetch_add(1);
  }
}

}  // namespace

backends::Image ProbeImage(backends::BackendKind kind) {
  backends::Image image{.backend = kind,
                        .name = "probe",
                        .bindings = 3,
                        .constants = 3,
                        .workgroup_size = kProbeWidth};
  if (kind == backends::BackendKind::kCpu) image.host = ProbeOnHost;
  if (kind == backends::BackendKind::kVulkan) AddVulkanProbe(image);
  if (kind == backends::BackendKind::kCuda) AddCudaProbe(image);
  return image;
}

}  // namespace keysieve::test
