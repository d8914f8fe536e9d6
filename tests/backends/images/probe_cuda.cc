// SPDX-License-Identifier: MIT
// The probe program as a fat binary.
#include "tests/backends/images/probe_kernel.h"

extern "C" const std::byte ks_probe_begin[];
extern "C" const std::byte ks_probe_end[];

namespace keysieve::test {

void AddCudaProbe(backends::Image& image) {
  image.code = {ks_probe_begin, ks_probe_end};
  image.entry = "probe";
}

}  // namespace keysieve::test
