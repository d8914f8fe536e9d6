// SPDX-License-Identifier: MIT
// The device program for Vulkan: plain GLSL 4.5, no subgroup operations and no small storage types.
// Filters of 2^12 rows are read from shared memory, larger ones from the table itself.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "megakernel/abi.inl"
#include "megakernel/table_layout.inl"

#define KS_FN
#define KS_SHARED_ROWS 4096u

layout(local_size_x_id = 0) in;
layout(binding = 0, std430) coherent buffer Control { uint control[]; };
layout(binding = 1, std430) readonly buffer Text { uint text[]; };
layout(binding = 2, std430) readonly buffer Blobs { uint blobs[]; };
layout(binding = 3, std430) readonly buffer Tables { uint tables[]; };
layout(binding = 4, std430) writeonly buffer Hits { uint hits[]; };
layout(push_constant) uniform Constants { uint words[KS_CONSTANTS]; } constants;

shared uint shared_words[2];
shared uint shared_rows[KS_SHARED_ROWS];

uint ks_rows_loaded = 0xffffffffu;
bool ks_rows_shared = false;

uint constant_word(uint i) { return constants.words[i]; }
uint control_load(uint i) { return control[i]; }
void control_store(uint i, uint v) { control[i] = v; }
uint control_add(uint i, uint v) { return atomicAdd(control[i], v); }
uint text_word(uint i) { return text[i]; }
uint blob_word(uint i) { return blobs[i]; }
uint table_word(uint i) { return tables[i]; }
void hit_store(uint i, uint v) { hits[i] = v; }
uint lane() { return gl_LocalInvocationID.x; }
uint lanes() { return gl_WorkGroupSize.x; }
uint group() { return gl_WorkGroupID.x; }
void group_barrier() { barrier(); }
void device_fence() { memoryBarrierBuffer(); }
uint shared_get(uint i) { return shared_words[i]; }
void shared_put(uint i, uint v) { shared_words[i] = v; }
uint lowest_bit(uint v) { return uint(findLSB(v)); }
uint clock_64ns() { return 0u; }
void load_rows(uint at, uint bits);
uint filter_row_at(uint at, uint i) { return ks_rows_shared ? shared_rows[i] : tables[at + i]; }
#define filter_row(i) filter_row_at(ks_rows, i)
#define filter_prepare() load_rows(ks_rows, ks_row_bits)

#include "megakernel/scan_body.inl"

// All lanes of a workgroup come here together.
void load_rows(uint at, uint bits) {
  if (ks_rows_loaded != at) {
    ks_rows_loaded = at;
    ks_rows_shared = (1u << bits) <= KS_SHARED_ROWS;
    if (ks_rows_shared) {
      barrier();
      for (uint i = lane(); i < (1u << bits); i += lanes()) {
        shared_rows[i] = tables[at + i];
      }
      barrier();
    }
  }
}

void main() { ks_run(); }
