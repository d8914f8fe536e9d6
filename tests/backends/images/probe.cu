// SPDX-License-Identifier: MIT
// The probe program in CUDA; what it computes stands in probe_kernel.h, how it is called in
// backends/cuda/calling_convention.h.
#include "backends/cuda/calling_convention.h"

extern "C" __global__ void probe(const uint32_t* in, uint32_t* out, uint32_t* tally,
                                 keysieve::backends::CudaConstants constants) {
  const uint32_t count = constants.words[0];
  const uint32_t addend = constants.words[1];
  const uint32_t rounds = constants.words[2];
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  uint32_t x = in[i];
  for (uint32_t r = 0; r < rounds; ++r) x = x * 1664525u + 1013904223u;
  out[i] = x + addend;
  atomicAdd(tally, 1u);
}
