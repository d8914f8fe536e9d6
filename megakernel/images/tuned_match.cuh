// SPDX-License-Identifier: MIT
// CUDA's own way to find a slot's literals, held by conformance to the shared body's hits. A worker
// is eight warps. Each lane filters sixteen window positions of a row of text with one look-up in
// shared memory a byte; what passes is pushed on the warp's queues, so that exact comparison and
// the way out are done by 32 lanes at a time.
//
//   queue 1  positions whose window passed the filter
//   queue 2  (start, literal) whose whole window was equal
//   queue 3  hit records, exact and owned, on their way to the hit queue
#pragma once

#include <cstdint>

#include "megakernel/abi.inl"
#include "megakernel/table_layout.inl"

namespace tuned {

using uint = uint32_t;

constexpr uint kWorkerThreads = 256;
constexpr uint kWorkerWarps = kWorkerThreads / 32;
constexpr uint kWorkers = 4;  // of a block; they share the block's copy of a table
constexpr uint kBlockThreads = kWorkers * kWorkerThreads;
constexpr uint kRowBytes = 512;               // of text, that a warp filters at a time
constexpr uint kQueueWords = 64 + 128 + 128;  // of a warp
constexpr uint kQueuesWords = kQueueWords * kBlockThreads / 32;
constexpr uint kCountCeiling = 0x80000000u;

// Where text and tables are read from, and how: a launch may use the read-only caches, a resident
// kernel may not, since the memory under it changes.
enum class Memory { kReadOnly, kChanging, kShared };

// Dynamic shared memory: the warps' queues, then what a block keeps of its table.
extern __shared__ uint4 shared_memory[];

__device__ __forceinline__ uint* SharedWords() { return reinterpret_cast<uint*>(shared_memory); }
__device__ __forceinline__ uint SharedAddress(const void* p) {
  return static_cast<uint>(__cvta_generic_to_shared(p));
}

// The table a block has at hand. Pointers are generic: into shared memory where the section fitted,
// else into the arena.
struct TableView {
  uint key;  // word in the arena; ~0: none
  uint generation;
  uint rows_address;  // of the rows' copy in shared memory; 0: they do not fit
  uint row_shift;
  const uint* quads;
  const uint* tris;
  const uint* entries;
  const uint* records;
  const uint* bytes;
  uint quad_shift;
  uint tri_shift;
  uint tri_count;
};

// What a worker scans; in shared memory, written by its first lane.
struct Work {
  TableView table;
  const uint8_t* text;  // position 0 of the text, where it is global
  uint text_shared;     // the same where it is staged: an address that may lie before the stage
  const uint* blobs;
  uint blob_count;
  uint tiles;
  uint begin;
  uint end;
  uint readable;
  uint last;      // the last window position worth a look
  uint slot_tag;  // in a hit record's first word, above the literal
  uint position_tag;
  uint* hit_count;
  uint* hits;
  uint capacity;
  unsigned long long found;
  unsigned long long spilled;
  uint pairs;
  uint steps;
};

template <Memory kMemory>
__device__ __forceinline__ uint LoadWord(const uint* p) {
  uint v;
  if constexpr (kMemory == Memory::kReadOnly) {
    v = *p;  // generic: the copy in shared memory or the arena
  } else {
    asm volatile("ld.volatile.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
  }
  return v;
}

template <Memory kMemory>
__device__ __forceinline__ uint Text4(const Work* w, uint at) {
  uint v;
  if constexpr (kMemory == Memory::kShared) {
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(v) : "r"(w->text_shared + at));
  } else if constexpr (kMemory == Memory::kReadOnly) {
    asm volatile("ld.global.nc.u32 %0, [%1];" : "=r"(v) : "l"(w->text + at));
  } else {
    asm volatile("ld.volatile.global.u32 %0, [%1];" : "=r"(v) : "l"(w->text + at) : "memory");
  }
  return v;
}

template <Memory kMemory>
__device__ __forceinline__ uint4 Text16(const uint8_t* text, uint staged, uint at) {
  uint4 v;
  if constexpr (kMemory == Memory::kShared) {
    asm volatile("ld.shared.v4.u32 {%0,%1,%2,%3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "r"(staged + at));
  } else if constexpr (kMemory == Memory::kReadOnly) {
    asm volatile("ld.global.nc.v4.u32 {%0,%1,%2,%3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(text + at));
  } else {
    asm volatile("ld.volatile.global.v4.u32 {%0,%1,%2,%3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(text + at)
                 : "memory");
  }
  return v;
}

__device__ __forceinline__ uint Lane() { return threadIdx.x & 31u; }
__device__ __forceinline__ uint LanesBefore(uint mask) {
  uint before;
  asm("mov.u32 %0, %%lanemask_lt;" : "=r"(before));
  return __popc(mask & before);
}

__device__ __forceinline__ uint* Queue1() {
  return SharedWords() + (threadIdx.x >> 5) * kQueueWords;
}
__device__ __forceinline__ uint2* Queue2() { return reinterpret_cast<uint2*>(Queue1() + 64); }
__device__ __forceinline__ uint2* Queue3() { return reinterpret_cast<uint2*>(Queue1() + 192); }

// The top `count` records of queue 3 leave; the count goes on past the capacity.
__device__ __forceinline__ void Flush(Work* w, uint& queued, uint count) {
  uint first = 0;
  if (Lane() == 0) {
    first = atomicAdd(w->hit_count, count);
    if (first >= kCountCeiling) {  // far below where the count would wrap
      atomicSub(w->hit_count, count);
      first = kCountCeiling;
    }
    const uint room = first < w->capacity ? min(count, w->capacity - first) : 0;
    atomicAdd(&w->found, static_cast<unsigned long long>(count));
    if (room < count) atomicAdd(&w->spilled, static_cast<unsigned long long>(count - room));
  }
  first = __shfl_sync(~0u, first, 0);
  queued -= count;
  const uint at = first + Lane();
  if (Lane() < count && first < kCountCeiling && at < w->capacity) {
    reinterpret_cast<uint2*>(w->hits)[at] = Queue3()[queued + Lane()];
  }
  __syncwarp();
}

// Does one blob own `start` and hold all of [start, start + length)?
template <Memory kMemory>
__device__ __forceinline__ bool BlobTakes(const Work* w, uint start, uint length) {
  const uint count = w->blob_count;
  const uint tile = start >> KS_TILE_SHIFT;
  if (count == 0 || tile >= w->tiles) return false;
  uint low = LoadWord<kMemory>(w->blobs + count * KS_BLOB_WORDS + tile);
  uint high = min(LoadWord<kMemory>(w->blobs + count * KS_BLOB_WORDS + tile + 1), count - 1);
  while (low < high) {
    const uint middle = low + (high - low + 1) / 2;
    if (LoadWord<kMemory>(w->blobs + middle * KS_BLOB_WORDS + KS_BLOB_BEGIN) <= start) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  if (low >= count) return false;
  const uint* blob = w->blobs + low * KS_BLOB_WORDS;
  return start >= LoadWord<kMemory>(blob + KS_BLOB_OWN_BEGIN) &&
         start < LoadWord<kMemory>(blob + KS_BLOB_OWN_END) &&
         start + length <= LoadWord<kMemory>(blob + KS_BLOB_END);
}

template <Memory kText, Memory kTables>
__device__ __forceinline__ bool Equal(const Work* w, uint start, uint literal) {
  const uint* record = w->table.records + literal * KS_RECORD_WORDS;
  const uint length = LoadWord<kTables>(record + 1) & KS_RECORD_LENGTH_MASK;
  if (length > w->readable - start) return false;
  const uint* bytes = w->table.bytes + LoadWord<kTables>(record);
  const uint shift = (start & 3u) * 8u;
  uint at = start & ~3u;
  uint low = Text4<kText>(w, at);
  for (uint done = 0; done < length; done += 4, bytes += 2) {
    at += 4;
    // The word after the last one needed may be past the stage or the buffer.
    const bool more = (start & 3u) + min(length - done, 4u) > 4u;
    const uint high = more || done + 4 < length ? Text4<kText>(w, at) : 0;
    uint different = (__funnelshift_r(low, high, shift) | LoadWord<kTables>(bytes + 1)) ^
                     LoadWord<kTables>(bytes);
    if (length - done < 4) different &= (1u << (8 * (length - done))) - 1u;
    if (different != 0) return false;
    low = high;
  }
  return BlobTakes<kTables>(w, start, length);
}

// The top `count` of queue 2 are compared; what is a hit goes to queue 3.
template <Memory kText, Memory kTables>
__device__ __forceinline__ void Verify(Work* w, uint& queued, uint& hits, uint count) {
  queued -= count;
  bool ok = false;
  uint2 pair = make_uint2(0, 0);
  if (Lane() < count) {
    pair = Queue2()[queued + Lane()];
    ok = Equal<kText, kTables>(w, pair.x, pair.y);
  }
  if (Lane() == 0) atomicAdd(&w->pairs, count);
  __syncwarp();
  const uint which = __ballot_sync(~0u, ok);
  if (ok) {
    Queue3()[hits + LanesBefore(which)] =
        make_uint2(pair.y | w->slot_tag, pair.x | w->position_tag);
  }
  hits += __popc(which);
  __syncwarp();
  if (hits >= 32) Flush(w, hits, 32);
}

// Each lane that is `on` looks its window's literals up. Returns the fill of queue 2 and, from bit
// 8 on, that of queue 3.
template <Memory kText, Memory kTables>
__device__ __noinline__ uint LookUp(Work* w, uint fills, uint position, bool on) {
  uint queued = fills & 255u, hits = fills >> 8;
  uint window = 0, quad = 0, quads = 0, tri = 0, total = 0;
  if (on) {
    const uint shift = (position & 3u) * 8u;
    const uint at = position & ~3u;
    window = Text4<kText>(w, at);
    if (shift != 0) window = __funnelshift_r(window, Text4<kText>(w, at + 4), shift);
    window |= KS_FOLD_WORD;
    const uint* bucket = w->table.quads + ((window * KS_QUAD_FACTOR) >> w->table.quad_shift);
    quad = LoadWord<kTables>(bucket);
    quads = LoadWord<kTables>(bucket + 1) - quad;
    total = quads;
    if (w->table.tri_count != 0) {
      bucket = w->table.tris + (((window >> 8) * KS_TRI_FACTOR) >> w->table.tri_shift);
      tri = LoadWord<kTables>(bucket);
      total += LoadWord<kTables>(bucket + 1) - tri;
    }
  }
  const uint windows = __popc(__ballot_sync(~0u, on));
  if (Lane() == 0) atomicAdd(&w->steps, windows);
  for (uint k = 0; __any_sync(~0u, k < total); ++k) {
    bool match = false;
    uint start = 0, ref = 0;
    if (k < total) {
      const bool is_quad = k < quads;
      const uint* entry =
          w->table.entries + KS_ENTRY_WORDS * (is_quad ? quad + k : tri + (k - quads));
      const uint differs = LoadWord<kTables>(entry) ^ window;
      ref = LoadWord<kTables>(entry + 1);
      match = is_quad ? differs == 0 : (differs & KS_TRI_KEY_MASK) == 0;
      start = is_quad ? position - ((ref >> KS_ENTRY_OFFSET_SHIFT) & 0xffu) : position + 1;
      match = match && start >= w->begin && start < w->end;
    }
    const uint which = __ballot_sync(~0u, match);
    if (which == 0) continue;
    if (match) Queue2()[queued + LanesBefore(which)] = make_uint2(start, ref & KS_ENTRY_ID_MASK);
    queued += __popc(which);
    __syncwarp();
    if (queued >= 32) Verify<kText, kTables>(w, queued, hits, 32);
  }
  return queued | hits << 8;
}

template <Memory kText, Memory kTables>
__device__ __noinline__ void Finish(Work* w, uint fills, uint waiting) {
  if (waiting != 0) {
    const uint position = Lane() < waiting ? Queue1()[Lane()] : 0;
    fills = LookUp<kText, kTables>(w, fills, position, Lane() < waiting);
  }
  uint queued = fills & 255u, hits = fills >> 8;
  if (queued != 0) Verify<kText, kTables>(w, queued, hits, queued);
  if (hits != 0) Flush(w, hits, hits);
}

// Shifts sixteen answers into `answers` from the top: the first window's ends lowest.
__device__ __forceinline__ void Filter16(uint& answers, const uint (&words)[5], uint rows,
                                         uint shift) {
#pragma unroll
  for (int i = 0; i < 16; ++i) {
    const int k = i >> 2, r = i & 3;
    const uint window = r != 0 ? __funnelshift_r(words[k], words[k + 1], 8 * r) : words[k];
    const uint next = r == 3 ? words[k + 1] : __funnelshift_r(words[k], words[k + 1], 8 * (r + 1));
    const uint row = (next * KS_ROW_FACTOR) >> shift;
    uint address, bits;
    asm volatile("mad.lo.u32 %0, %1, 4, %2;" : "=r"(address) : "r"(row), "r"(rows));
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(bits) : "r"(address));
    answers = __funnelshift_r(answers, __funnelshift_r(bits, bits, window), 1);
  }
}

// Filters the rows of one warp. `warp` of kWorkerWarps; all lanes together.
template <Memory kText, Memory kTables>
__device__ __forceinline__ void ScanWindows(Work* w, uint warp) {
  const uint8_t* text = w->text;
  const uint staged = w->text_shared;
  const uint last = w->last, rows = w->table.rows_address, shift = w->table.row_shift;
  const uint first = (w->begin - 1u) & ~15u;
  const uint row_end = (last - first) / kRowBytes + 1u;
  const uint queue = SharedAddress(Queue1());
  uint waiting = 0, fills = 0;
  for (uint row = warp * 4u; row < row_end; row += kWorkerWarps * 4u) {
    const uint base = first + row * kRowBytes + Lane() * 16u;
    uint4 v[4];
    uint after[4];
#pragma unroll
    for (uint u = 0; u < 4; ++u) {
      const uint at = base + u * kRowBytes;
      v[u] = make_uint4(0, 0, 0, 0);
      after[u] = 0;
      // A window at the last position reads three bytes more.
      if (at <= last + 3u) v[u] = Text16<kText>(text, staged, at);
      if (Lane() == 31 && at + 13u <= last) after[u] = Text4<kText>(w, at + 16u);
    }
    uint passed[2];
#pragma unroll
    for (int p = 0; p < 2; ++p) {
      uint answers = 0;
#pragma unroll
      for (int x = 0; x < 2; ++x) {
        const int u = 2 * p + x;
        uint words[5] = {v[u].x, v[u].y, v[u].z, v[u].w, 0};
        const uint next = __shfl_down_sync(~0u, words[0], 1);
        words[4] = Lane() == 31 ? after[u] : next;
#pragma unroll
        for (uint& word : words) word |= KS_FOLD_WORD;
        Filter16(answers, words, rows, shift);
      }
      passed[p] = answers;
    }
    if (row + 4u >= row_end) {  // what lies past the last position was not read
      if (base > last) passed[0] &= 0xffff0000u;
      if (base + kRowBytes > last) passed[0] &= 0x0000ffffu;
      if (base + 2u * kRowBytes > last) passed[1] &= 0xffff0000u;
      if (base + 3u * kRowBytes > last) passed[1] &= 0x0000ffffu;
    }
    while (true) {
      const bool any = (passed[0] | passed[1]) != 0;
      const uint which = __ballot_sync(~0u, any);
      if (which == 0) break;
      if (any) {
        const bool low = passed[0] != 0;
        const uint bits = low ? passed[0] : passed[1];
        const uint bit = __ffs(static_cast<int>(bits)) - 1u;
        if (low) {
          passed[0] = bits & (bits - 1u);
        } else {
          passed[1] = bits & (bits - 1u);
        }
        const uint position = base + ((low ? 0u : 2u) + (bit >> 4)) * kRowBytes + (bit & 15u);
        asm volatile("st.shared.u32 [%0], %1;" ::"r"(queue + (waiting + LanesBefore(which)) * 4u),
                     "r"(position)
                     : "memory");
      }
      waiting += __popc(which);
      __syncwarp();
      if (waiting >= 32) {
        waiting -= 32;
        const uint position = Queue1()[waiting + Lane()];
        __syncwarp();
        fills = LookUp<kText, kTables>(w, fills, position, true);
      }
    }
  }
  if ((waiting | fills) != 0) Finish<kText, kTables>(w, fills, waiting);
}

// Literals of one and two bytes, by their first byte. Lanes take their turns together, so that
// their hits leave together.
template <Memory kText, Memory kTables>
__device__ __noinline__ void ScanShorts(Work* w, uint thread, const uint* shorts,
                                        const uint* list) {
  uint hits = 0;
  for (uint base = w->begin; base < w->end; base += kWorkerThreads) {
    const uint at = base + thread;
    uint next = 0, last = 0, second = 0;
    if (at < w->end) {
      const uint first = (Text4<kText>(w, at & ~3u) >> ((at & 3u) * 8u)) & 0xffu;
      if ((LoadWord<kTables>(shorts + (first >> 5)) >> (first & 31u) & 1u) != 0) {
        next = LoadWord<kTables>(shorts + KS_SHORT_STARTS_AT + first);
        last = LoadWord<kTables>(shorts + KS_SHORT_STARTS_AT + first + 1);
        // Past the text's end no literal of two bytes fits, whatever is read here.
        const uint after = at + 1u < w->readable ? at + 1u : at;
        second = (Text4<kText>(w, after & ~3u) >> ((after & 3u) * 8u)) & 0xffu;
      }
    }
    for (; __any_sync(~0u, next < last); ++next) {
      bool ok = false;
      uint literal = 0;
      if (next < last) {
        const uint entry = LoadWord<kTables>(list + next);
        const uint length = (entry >> KS_SHORT_LENGTH_SHIFT) & KS_SHORT_LENGTH_MASK;
        literal = entry & KS_ENTRY_ID_MASK;
        ok = (length == 1 || entry >> KS_SHORT_SECOND_SHIFT == second) &&
             length <= w->readable - at && BlobTakes<kTables>(w, at, length);
      }
      const uint which = __ballot_sync(~0u, ok);
      if (ok) {
        Queue3()[hits + LanesBefore(which)] =
            make_uint2(literal | w->slot_tag, at | w->position_tag);
      }
      hits += __popc(which);
      __syncwarp();
      if (hits >= 32) Flush(w, hits, 32);
    }
  }
  if (hits != 0) Flush(w, hits, hits);
}

}  // namespace tuned
