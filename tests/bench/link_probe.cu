// SPDX-License-Identifier: MIT
// Reads `constants.words[0]` vectors of sixteen bytes, each once.
#include "backends/cuda/calling_convention.h"

extern "C" __global__ void link_probe(uint32_t* from, uint32_t* sink,
                                      keysieve::backends::CudaConstants constants) {
  const uint4* vectors = reinterpret_cast<const uint4*>(from);
  const uint32_t count = constants.words[0];
  const uint32_t step = gridDim.x * blockDim.x;
  uint32_t sum = 0;
  uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  for (; i + 3 * step < count; i += 4 * step) {
    uint4 v[4];
#pragma unroll
    for (uint32_t k = 0; k < 4; ++k) {
      asm volatile("ld.volatile.global.v4.u32 {%0,%1,%2,%3}, [%4];"
                   : "=r"(v[k].x), "=r"(v[k].y), "=r"(v[k].z), "=r"(v[k].w)
                   : "l"(vectors + i + k * step));
    }
    for (const uint4& one : v) sum += one.x ^ one.y ^ one.z ^ one.w;
  }
  for (; i < count; i += step) sum += vectors[i].x;
  if (sum == 0x12345678u) sink[threadIdx.x] = sum;  // so that nothing is optimized away
}
