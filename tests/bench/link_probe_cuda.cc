// SPDX-License-Identifier: MIT
#include "tests/bench/link_probe.h"

extern "C" const std::byte link_probe_begin[];
extern "C" const std::byte link_probe_end[];

namespace keysieve::bench {

std::span<const std::byte> LinkProbeCode() {
  return {link_probe_begin, static_cast<size_t>(link_probe_end - link_probe_begin)};
}

}  // namespace keysieve::bench
