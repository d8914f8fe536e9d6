// SPDX-License-Identifier: MIT
// The device program for CUDA with its own matcher: the shared body claims and admits slots and
// completes them, tuned_match.cuh finds the hits. A block of 1,024 threads is four workers, which
// share a copy of one table. A slot with a step limit or of another table takes the shared body's
// way; both find the same hits.
#pragma once

#include "megakernel/images/tuned_match.cuh"

#define KS_FN __device__ __forceinline__
#define KS_SCAN() tuned_scan()
// A test's image may look at the work before it is done.
#ifndef KS_TUNED_BEFORE
#define KS_TUNED_BEFORE(work)
#endif

namespace tuned {

// Static shared memory of a block.
struct BlockState {
  TableView table;
  Work work[kWorkers];
  uint constants[kWorkers][KS_CONSTANTS];
  uint words[kWorkers][2];
};

__device__ __forceinline__ uint Worker() { return threadIdx.x / kWorkerThreads; }
__device__ __forceinline__ uint WorkerLane() { return threadIdx.x % kWorkerThreads; }
__device__ __forceinline__ void WorkerBarrier() {
  asm volatile("bar.sync %0, %1;" ::"r"(Worker() + 1u), "n"(kWorkerThreads) : "memory");
}

// What a launch binds, as pointers.
struct Bindings {
  uint* control;
  const uint8_t* text;
  const uint* blobs;
  const uint* tables;
  uint* hits;
};

template <Memory kText, Memory kTables>
struct TunedProgram {
  BlockState& block;
  const Bindings bound;
  const uint first_block;  // that works

  __device__ TunedProgram(BlockState& b, const Bindings& bindings, uint first)
      : block(b), bound(bindings), first_block(first) {}

  KS_FN uint constant_word(uint i) const { return block.constants[Worker()][i]; }
  KS_FN uint control_load(uint i) const { return static_cast<volatile uint*>(bound.control)[i]; }
  KS_FN void control_store(uint i, uint v) { static_cast<volatile uint*>(bound.control)[i] = v; }
  KS_FN uint control_add(uint i, uint v) { return atomicAdd(bound.control + i, v); }
  KS_FN uint text_word(uint i) const { return Text4<kText>(&block.work[Worker()], i * 4u); }
  KS_FN uint blob_word(uint i) const { return LoadWord<kTables>(bound.blobs + i); }
  KS_FN uint table_word(uint i) const { return LoadWord<kTables>(bound.tables + i); }
  KS_FN void hit_store(uint i, uint v) { bound.hits[i] = v; }
  KS_FN uint lane() const { return WorkerLane(); }
  KS_FN uint lanes() const { return kWorkerThreads; }
  KS_FN uint group() const { return (blockIdx.x - first_block) * kWorkers + Worker(); }
  KS_FN void group_barrier() { WorkerBarrier(); }
  KS_FN void device_fence() { __threadfence(); }
  KS_FN uint shared_get(uint i) const { return block.words[Worker()][i]; }
  KS_FN void shared_put(uint i, uint v) { block.words[Worker()][i] = v; }
  KS_FN uint lowest_bit(uint v) const { return __ffs(static_cast<int>(v)) - 1; }
  KS_FN uint clock_64ns() const {
    unsigned long long now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return static_cast<uint>(now >> 6);
  }
  KS_FN void filter_prepare() {}
  KS_FN uint filter_row(uint i) const { return table_word(ks_rows + i); }

#include "megakernel/scan_body.inl"

  // The first lane says what is scanned; the text's place even for the shared body.
  KS_FN void describe_work() {
    Work& work = block.work[Worker()];
    work.table = block.table;
    work.text = bound.text;
    work.text_shared = 0;
    work.blobs = bound.blobs;
    work.blob_count = constant_word(KS_CONST_BLOBS);
    work.tiles = constant_word(KS_CONST_TILES);
    work.begin = ks_begin;
    work.end = ks_end;
    work.readable = ks_readable;
    work.last = min(ks_end - 1u + table_word(ks_table + KS_TABLE_MAX_OFFSET_AT), ks_readable - 1u);
    work.slot_tag = (ks_slot & KS_HIT_SLOT_MASK) << KS_HIT_LITERAL_BITS;
    work.position_tag = constant_word(KS_CONST_HIT_TAG);
    work.hit_count = bound.control + KS_CTL_HITS;
    work.hits = bound.hits;
    work.capacity = constant_word(KS_CONST_HIT_CAPACITY);
    work.found = 0;
    work.spilled = 0;
    work.pairs = 0;
    work.steps = 0;
  }

  // All lanes of a worker.
  KS_FN void tuned_scan() {
    if (ks_begin >= ks_end) return;
    if (lane() == 0u) describe_work();
    WorkerBarrier();
    Work* work = &block.work[Worker()];
    KS_TUNED_BEFORE(work);
    const bool at_hand =
        work->table.key == ks_table && work->table.rows_address != 0u &&
        work->table.generation == control_load(ks_slot_at(ks_slot) + KS_SLOT_GENERATION);
    if (!at_hand || ks_limit != 0xffffffffu) {
      ks_scan();
      return;
    }
    if (table_word(ks_table + KS_TABLE_ENTRY_COUNT_AT) != 0u) {
      ScanWindows<kText, kTables>(work, lane() / 32u);
    }
    if (table_word(ks_table + KS_TABLE_SHORT_COUNT_AT) != 0u) {
      ScanShorts<kText, kTables>(
          work, lane(), bound.tables + ks_table + table_word(ks_table + KS_TABLE_SHORTS_AT),
          bound.tables + ks_table + table_word(ks_table + KS_TABLE_SHORT_LIST_AT));
    }
    WorkerBarrier();
    if (lane() == 0u) {
      ks_hits = static_cast<uint>(min(work->found, static_cast<unsigned long long>(kCountCeiling)));
      ks_spilled =
          static_cast<uint>(min(work->spilled, static_cast<unsigned long long>(kCountCeiling)));
      ks_pairs = work->pairs;
      ks_steps = work->steps;
      control_add(KS_CTL_OBSERVABLES_AT + KS_OBS_TUNED, 1u);
    }
  }
};

__device__ __forceinline__ uint DynamicSharedWords() {
  uint bytes;
  asm volatile("mov.u32 %0, %%dynamic_smem_size;" : "=r"(bytes));
  return bytes / 4u;
}

// Copies a section behind what is kept already, where there is room. All threads of the block.
template <Memory kTables>
__device__ __forceinline__ const uint* Keep(const uint* section, uint words, uint& used) {
  if (words > DynamicSharedWords() - used) return section;
  uint* kept = SharedWords() + used;
  for (uint i = threadIdx.x; i < words; i += kBlockThreads)
    kept[i] = LoadWord<kTables>(section + i);
  used += words;
  return kept;
}

// Makes the table at `at` of the arena, which the caller has checked, the block's own. All threads
// of the block, none of which uses the one before.
template <Memory kTables>
__device__ __noinline__ void TakeTable(BlockState& block, const uint* tables, uint at,
                                       uint generation) {
  const uint* table = tables + at;
  const auto header = [table](uint i) { return LoadWord<kTables>(table + i); };
  const uint row_bits = header(KS_TABLE_ROW_BITS_AT);
  const uint quad_bits = header(KS_TABLE_QUAD_BITS_AT);
  const uint tri_bits = header(KS_TABLE_TRI_BITS_AT);
  uint used = kQueuesWords;
  __syncthreads();
  const uint* rows = Keep<kTables>(table + header(KS_TABLE_ROWS_AT), 1u << row_bits, used);
  const bool fits = used != kQueuesWords;
  const uint* quads =
      Keep<kTables>(table + header(KS_TABLE_QUADS_AT), (1u << quad_bits) + 1u, used);
  const uint* tris = Keep<kTables>(table + header(KS_TABLE_TRIS_AT), (1u << tri_bits) + 1u, used);
  const uint* entries = Keep<kTables>(table + header(KS_TABLE_ENTRIES_AT),
                                      header(KS_TABLE_ENTRY_COUNT_AT) * KS_ENTRY_WORDS, used);
  if (threadIdx.x == 0) {
    TableView& view = block.table;
    view.key = at;
    view.generation = generation;
    view.rows_address = fits ? SharedAddress(rows) : 0u;
    view.row_shift = 32u - row_bits;
    view.quads = quads;
    view.tris = tris;
    view.entries = entries;
    view.records = table + header(KS_TABLE_RECORDS_AT);
    view.bytes = table + header(KS_TABLE_BYTES_AT);
    view.quad_shift = 32u - quad_bits;
    view.tri_shift = 32u - tri_bits;
    view.tri_count = header(KS_TABLE_TRI_COUNT_AT);
  }
  __syncthreads();
}

// Is directory entry `index` of a control block a table that the arena holds?
template <Memory kTables>
__device__ __forceinline__ bool TableStands(const volatile uint* control, const uint* tables,
                                            uint arena, uint index, uint& at, uint& generation) {
  if (index >= KS_CTL_DIRECTORY) return false;
  const volatile uint* entry = control + KS_CTL_DIRECTORY_AT + index * KS_DIR_WORDS;
  generation = entry[KS_DIR_GENERATION];
  at = entry[KS_DIR_AT];
  const uint size = entry[KS_DIR_SIZE];
  if (generation == 0 || size < KS_TABLE_HEADER_WORDS || at > arena || size > arena - at) {
    return false;
  }
  return LoadWord<kTables>(tables + at + KS_TABLE_MAGIC_AT) == KS_TABLE_MAGIC &&
         LoadWord<kTables>(tables + at + KS_TABLE_VERSION_AT) == KS_TABLE_VERSION &&
         LoadWord<kTables>(tables + at + KS_TABLE_WORDS_AT) == size;
}

}  // namespace tuned
