// SPDX-License-Identifier: MIT
// The probe program as SPIR-V.
#include "tests/backends/images/probe_kernel.h"

namespace keysieve::test {
namespace {

constexpr uint32_t kWords[] = {
#include "images/probe.spv.inc"
};

}  // namespace

void AddVulkanProbe(backends::Image& image) { image.code = std::as_bytes(std::span(kWords)); }

}  // namespace keysieve::test
