// SPDX-License-Identifier: MIT
// The probe program in GLSL; what it computes stands in probe_kernel.h.
#version 450
layout(local_size_x_id = 0) in;
layout(set = 0, binding = 0, std430) readonly buffer In { uint words_in[]; };
layout(set = 0, binding = 1, std430) writeonly buffer Out { uint words_out[]; };
layout(set = 0, binding = 2, std430) buffer Tally { uint tally; };
layout(push_constant) uniform Constants {
  uint count;
  uint addend;
  uint rounds;
};

void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i >= count) return;
  uint x = words_in[i];
  for (uint r = 0u; r < rounds; ++r) x = x * 1664525u + 1013904223u;
  words_out[i] = x + addend;
  atomicAdd(tally, 1u);
}
