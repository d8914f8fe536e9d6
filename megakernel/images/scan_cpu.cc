// SPDX-License-Identifier: MIT
// The device program compiled for the host: one invocation is a whole workgroup, so barriers are
// nothing and the filter is read where it lies. Where a table has a Vectorscan database, a slot's
// hits come from it instead of from the body: one scan of the slot's text, blob by blob decided as
// the body does.
#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstring>

#include "megakernel/abi.inl"
#include "megakernel/images/cpu_matcher.h"
#include "megakernel/images/embedded.h"
#include "megakernel/images/slot_hits.h"
#include "megakernel/table_layout.inl"

#define KS_FN inline
#define KS_SCAN() scan_open_slot()

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
  CpuMatcher* matcher;
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

  // All hits of the slot at once, by increasing position: one place in the queue is claimed for
  // them. Counts as ks_emit() does.
  void emit_sorted(std::span<const uint64_t> keys) {
    const auto found = static_cast<uint>(keys.size());
    uint index = KS_COUNT_CEILING;
    if (control_load(KS_CTL_HITS) < KS_COUNT_CEILING) index = control_add(KS_CTL_HITS, found);
    const uint capacity = constant_word(KS_CONST_HIT_CAPACITY);
    const uint room = index < capacity ? std::min(found, capacity - index) : 0;
    const uint tag = (ks_slot & KS_HIT_SLOT_MASK) << KS_HIT_LITERAL_BITS;
    for (uint i = 0; i < room; ++i) {
      hit_store((index + i) * KS_HIT_WORDS, SlotHits::LiteralOf(keys[i]) | tag);
      hit_store((index + i) * KS_HIT_WORDS + 1,
                SlotHits::PositionOf(keys[i]) | constant_word(KS_CONST_HIT_TAG));
    }
    ks_hits = found;
    ks_spilled = found - room;
  }

  BlobBounds bounds_of(uint start) {
    const uint blob = ks_blob_of(start);
    if (blob >= constant_word(KS_CONST_BLOBS)) return {};
    const uint at = blob * KS_BLOB_WORDS;
    return {blob_word(at + KS_BLOB_OWN_BEGIN), blob_word(at + KS_BLOB_OWN_END),
            blob_word(at + KS_BLOB_END)};
  }

  // False if the database could not find all of them; nothing is then published.
  bool scan_with(const CpuDatabase& database) {
    auto workspace = database.Take();
    if (workspace == nullptr) return false;
    SlotHits hits(
        database, reinterpret_cast<const uint8_t*>(text), workspace->keys,
        {ks_begin, ks_end, ks_readable},
        [](void* program, uint start) {
          return static_cast<HostProgram*>(program)->bounds_of(start);
        },
        this);
    const bool all = hits.Find(*workspace);
    if (all) {
      ks_pairs = hits.pairs();
      emit_sorted(workspace->keys);
      control_add(KS_CTL_OBSERVABLES_AT + KS_OBS_TUNED, 1u);
    }
    database.GiveBack(std::move(workspace));
    return all;
  }

  void scan_open_slot() {
    if (matcher != nullptr && ks_limit == 0xffffffffu && ks_begin < ks_end) {
      const uint generation = control_load(ks_slot_at(ks_slot) + KS_SLOT_GENERATION);
      const auto database = matcher->Find(generation, ks_end - ks_begin);
      if (database != nullptr && scan_with(*database)) return;
    }
    ks_scan();
  }
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
  program.matcher = static_cast<CpuMatcher*>(workgroup.state);
  program.ks_run();
}

}  // namespace keysieve::megakernel
