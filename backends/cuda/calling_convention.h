// SPDX-License-Identifier: MIT
// How this backend calls a kernel. A fat binary's entry takes one pointer a binding, in order, then
// one struct of constants by value, always, even where the image declares none:
//
//   extern "C" __global__ void entry(uint32_t* b0, ..., uint32_t* bN-1,
//                                    keysieve::backends::CudaConstants c);
//
// The grid is (workgroups, 1, 1), a block is (workgroup_size, 1, 1), and `shared_bytes` of dynamic
// shared memory come with it. Bindings point at their range's first byte. Words past the declared
// constants are zero. This header is read by nvcc and by host compilers.
#pragma once

#include <stdint.h>

namespace keysieve::backends {

struct CudaConstants {
  uint32_t words[16];
};

}  // namespace keysieve::backends
