// SPDX-License-Identifier: MIT
#include "tests/bench/link_probe.h"

namespace keysieve::bench {

std::span<const std::byte> LinkProbeCode() { return {}; }

}  // namespace keysieve::bench
