// SPDX-License-Identifier: MIT
// The device program compiled for the host: one invocation is a whole workgroup, so barriers are
// nothing and the filter is read where it lies.
#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstring>

#include "megakernel/abi.inl"
#include "megakernel/images/embedded.h"
#include "megakernel/table_layout.inl"

#define KS_FN inline

namespace keysieve::megakernel {
namespace {

using uint = uint32_t;

static_assert(std::endian::native == std::endian::little, "the ABI is little-endian");

struct HostProgram {
  const uint* constants;
  uint* control;
  const std::byte* text;
  const uint* blobs;
  const uint* tables;
  uint* hits;
  uint workgroup;
  uint shared[2] = {0, 0};

  uint constant_word(uint i) const { return constants[i]; }
  uint control_load(uint i) const {
    return std::atomic_ref<uint>(control[i]).load(std::memory_order_acquire);
  }
  void control_store(uint i, uint v) {
    std::atomic_ref<uint>(control[i]).store(v, std::memory_order_release);
  }
  uint control_add(uint i, uint v) {
    return std::atomic_ref<uint>(control[i]).fetch_add(v, std::memory_order_relaxed);
  }
  uint text_word(uint i) const {
    uint word;
    std::memcpy(&word, text + size_t{i} * 4, 4);
    return word;
  }
  uint blob_word(uint i) const { return blobs[i]; }
  uint table_word(uint i) const { return tables[i]; }
  void hit_store(uint i, uint v) { hits[i] = v; }
  uint lane() const { return 0; }
  uint lanes() const { return 1; }
  uint group() const { return workgroup; }
  void group_barrier() {}
  void device_fence() { std::atomic_thread_fence(std::memory_order_release); }
  uint shared_get(uint i) const { return shared[i]; }
  void shared_put(uint i, uint v) { shared[i] = v; }
  void filter_prepare() {}
  uint filter_row(uint i) const { return tables[ks_rows + i]; }
  uint lowest_bit(uint v) const { return static_cast<uint>(std::countr_zero(v)); }
  uint clock_64ns() const {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return static_cast<uint>(std::chrono::nanoseconds(now).count() >> 6);
  }

#include "megakernel/scan_body.inl"
};

uint* Words(std::span<std::byte> binding) { return reinterpret_cast<uint*>(binding.data()); }

}  // namespace

void RunScanOnCpu(const backends::HostWorkgroup& workgroup) {
  const auto& bindings = workgroup.bindings;
  HostProgram program{};
  program.constants = workgroup.constants.data();
  program.control = Words(bindings[KS_BIND_CONTROL]);
  program.text = bindings[KS_BIND_TEXT].data();
  program.blobs = Words(bindings[KS_BIND_BLOBS]);
  program.tables = Words(bindings[KS_BIND_TABLES]);
  program.hits = Words(bindings[KS_BIND_HITS]);
  program.workgroup = workgroup.workgroup;
  program.ks_run();
}

}  // namespace keysieve::megakernel
