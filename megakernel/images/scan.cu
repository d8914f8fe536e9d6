// SPDX-License-Identifier: MIT
// The device program for CUDA. One pointer a binding, then the launch's constants by value. Filters
// of up to 2^13 rows are read from shared memory, larger ones from the table through the caches.
#include <cstdint>

#include "megakernel/abi.inl"
#include "megakernel/table_layout.inl"

#define KS_FN __device__ __forceinline__

namespace {

using uint = uint32_t;

constexpr uint kSharedRows = 8192;
__shared__ uint shared_words[2];
__shared__ uint shared_rows[kSharedRows];

struct Constants {
  uint words[KS_CONSTANTS];
};

struct DeviceProgram {
  const Constants& constants;
  uint* control;
  const uint* __restrict__ text;
  const uint* __restrict__ blobs;
  const uint* __restrict__ tables;
  uint* hits;
  uint rows_loaded = 0xffffffffu;
  bool rows_shared = false;

  __device__ DeviceProgram(const Constants& c, uint* b0, const uint* b1, const uint* b2,
                           const uint* b3, uint* b4)
      : constants(c), control(b0), text(b1), blobs(b2), tables(b3), hits(b4) {}

  KS_FN uint constant_word(uint i) const { return constants.words[i]; }
  KS_FN uint control_load(uint i) const { return static_cast<volatile uint*>(control)[i]; }
  KS_FN void control_store(uint i, uint v) { static_cast<volatile uint*>(control)[i] = v; }
  KS_FN uint control_add(uint i, uint v) { return atomicAdd(control + i, v); }
  KS_FN uint text_word(uint i) const { return text[i]; }
  KS_FN uint blob_word(uint i) const { return __ldg(blobs + i); }
  KS_FN uint table_word(uint i) const { return __ldg(tables + i); }
  KS_FN void hit_store(uint i, uint v) { hits[i] = v; }
  KS_FN uint lane() const { return threadIdx.x; }
  KS_FN uint lanes() const { return blockDim.x; }
  KS_FN uint group() const { return blockIdx.x; }
  KS_FN void group_barrier() { __syncthreads(); }
  KS_FN void device_fence() { __threadfence(); }
  KS_FN uint shared_get(uint i) const { return shared_words[i]; }
  KS_FN void shared_put(uint i, uint v) { shared_words[i] = v; }
  KS_FN uint lowest_bit(uint v) const { return __ffs(static_cast<int>(v)) - 1; }
  KS_FN uint clock_64ns() const {
    unsigned long long now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return static_cast<uint>(now >> 6);
  }
  KS_FN uint filter_row(uint i) const {
    return rows_shared ? shared_rows[i] : __ldg(tables + ks_rows + i);
  }
  // All threads of a block come here together.
  KS_FN void filter_prepare() {
    if (rows_loaded == ks_rows) return;
    rows_loaded = ks_rows;
    rows_shared = (1u << ks_row_bits) <= kSharedRows;
    if (!rows_shared) return;
    __syncthreads();
    for (uint i = threadIdx.x; i < (1u << ks_row_bits); i += blockDim.x) {
      shared_rows[i] = __ldg(tables + ks_rows + i);
    }
    __syncthreads();
  }

#include "megakernel/scan_body.inl"
};

}  // namespace

extern "C" __global__ void keysieve_scan(uint32_t* control, uint32_t* text, uint32_t* blobs,
                                         uint32_t* tables, uint32_t* hits, Constants constants) {
  DeviceProgram program(constants, control, text, blobs, tables, hits);
  program.ks_run();
}
