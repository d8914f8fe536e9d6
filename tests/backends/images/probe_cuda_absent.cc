// SPDX-License-Identifier: MIT
// Linked where the build has no cuda backend.
#include "tests/backends/images/probe_kernel.h"

namespace keysieve::test {

void AddCudaProbe(backends::Image&) {}

}  // namespace keysieve::test
