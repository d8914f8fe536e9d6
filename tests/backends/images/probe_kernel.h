// SPDX-License-Identifier: MIT
// A tiny program in every device language, for tests of devices. Three bindings: words in, words
// out, one tally word. Three constants: count, addend, rounds. For each i below count,
//   out[i] = step^rounds(in[i]) + addend  with  step(x) = x * 1664525 + 1013904223  (mod 2^32),
// and the tally grows by one. A workgroup does kProbeWidth words. `rounds` makes it slow on
// purpose.
#pragma once

#include <cstdint>

#include "backends/device.h"

namespace keysieve::test {

inline constexpr uint32_t kProbeWidth = 64;

// The image for `kind`; its `code` and `host` are both empty if this build has none.
backends::Image ProbeImage(backends::BackendKind kind);

// Fill in what the linked backends need; each is defined in one file or its absent twin.
void AddVulkanProbe(backends::Image& image);
void AddCudaProbe(backends::Image& image);

}  // namespace keysieve::test
