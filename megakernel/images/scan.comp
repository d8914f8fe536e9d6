// SPDX-License-Identifier: MIT
// The device program for Vulkan. Three modules come of it: the shared body as it is; with KS_QUEUED
// the same work as stages of the whole workgroup, which hand candidates on through queues in shared
// memory (queued.glsl); and with KS_SUBGROUPS besides, a claim in a queue is one atomic a subgroup
// of whatever size. The first two use no subgroup operation, none uses small storage types.
#version 450
#extension GL_GOOGLE_include_directive : require
#ifdef KS_SUBGROUPS
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_ballot : require
#endif
#include "megakernel/abi.inl"
#include "megakernel/table_layout.inl"

#define KS_FN

layout(local_size_x_id = 0) in;
// Words of shared memory for filter rows, as many as the device has to spare; larger filters are
// read from the table itself.
layout(constant_id = 1) const uint KS_SHARED_ROWS = 1;
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

#ifdef KS_QUEUED
void queued_scan();
void queued_pair(uint literal, uint start);
void queued_hit(uint literal, uint start);
#define KS_SCAN() queued_scan()
#define KS_CONSIDER(literal, start) queued_pair(literal, start)
#define KS_EMIT(literal, start) queued_hit(literal, start)
#endif

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

#ifdef KS_QUEUED
#include "megakernel/images/queued.glsl"
#endif

void main() { ks_run(); }
