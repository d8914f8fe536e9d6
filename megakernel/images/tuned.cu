// SPDX-License-Identifier: MIT
// CUDA's two ways to run the tuned program: as a launch that drains one epoch and returns, and as a
// resident kernel that takes batch after batch until it is told to leave or has nothing to do.
#include "megakernel/images/tuned_program.cuh"
#include "megakernel/resident.inl"

namespace {

using tuned::BlockState;
using tuned::Memory;
using tuned::uint;

struct Constants {
  uint words[KS_CONSTANTS];
};

using EpochProgram = tuned::TunedProgram<Memory::kReadOnly, Memory::kReadOnly>;
using ResidentProgram = tuned::TunedProgram<Memory::kChanging, Memory::kChanging>;

__device__ __forceinline__ unsigned long long Nanoseconds() {
  unsigned long long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

__device__ __forceinline__ uint Load(const uint* p) {
  return *static_cast<const volatile uint*>(p);
}
__device__ __forceinline__ void Store(uint* p, uint v) { *static_cast<volatile uint*>(p) = v; }

// The launch's pointers and sizes.
struct Resident {
  uint* control;
  uint* area;
  const uint* tables;
  uint* answers;
  uint* hits;
  uint* pulse;
  const uint* inbox;
  const Constants& constants;

  __device__ uint constant(uint i) const { return constants.words[i]; }
  __device__ uint* head(uint batch) const {
    return area + static_cast<size_t>(batch) * (constant(KS_RES_CONST_AREA_STRIDE) / 4u);
  }
  __device__ uint workers() const { return (gridDim.x - 1u) * tuned::kWorkers; }
  __device__ uint worker() const { return (blockIdx.x - 1u) * tuned::kWorkers + tuned::Worker(); }
};

// What the leader saw, for its block.
struct Order {
  uint ready;  // 0: leave
  uint head_bytes;
  uint text_bytes;
};

__device__ __forceinline__ bool Publishes(const Resident& r, uint ready, uint sequence) {
  const uint due = KS_RES_READY_WORD(sequence, 0u) >> KS_RES_BATCH_BITS;
  return ready >> KS_RES_BATCH_BITS == due &&
         (ready & KS_RES_BATCH_MASK) < r.constant(KS_RES_CONST_BATCHES);
}

__device__ __forceinline__ uint4 Load4(const void* p) {
  uint4 v;
  asm volatile("ld.volatile.v4.u32 {%0,%1,%2,%3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(p)
               : "memory");
  return v;
}

__device__ void OpenGate(const Resident& r, uint& opened) {
  ++opened;
  Store(r.control + KS_RES_GATE, opened);
  Store(r.pulse + KS_RES_PULSE_OPENED, opened);
}

// One thread looks for ready batches, opens the gate and gives signs of life, until a batch is to
// be fetched or nothing more is to be done.
__device__ Order Watch(const Resident& r, uint& opened) {
  const unsigned long long park = 1000ull * r.constant(KS_RES_CONST_PARK_US);
  unsigned long long worked = Nanoseconds();
  for (uint turn = 0;; ++turn) {
    const uint place = opened % KS_RES_READY;
    if (Publishes(r, Load(r.control + KS_RES_READY_AT + place), opened)) {
      __threadfence_system();
      OpenGate(r, opened);
      worked = Nanoseconds();
      continue;
    }
    const uint4 bell = Load4(r.pulse + KS_RES_BELLS_AT + place * KS_RES_BELL_WORDS);
    if (Publishes(r, bell.x, opened)) return {bell.x, bell.y, bell.z};
    if (turn % 64u != 0u) continue;
    Store(r.pulse + KS_RES_PULSE_HEARTBEAT, turn);
    const bool idle = park != 0 && Nanoseconds() - worked > park;
    if (idle || Load(r.control + KS_RES_STOP) == r.constant(KS_RES_CONST_LAUNCH)) return {};
  }
}

// All threads of the leading block: pinned memory over the link, sixteen bytes a load.
__device__ void Fetch(const void* from, void* to, uint bytes) {
  const auto* source = static_cast<const uint4*>(from);
  auto* target = static_cast<uint4*>(to);
  for (uint i = threadIdx.x; i < bytes / 16u; i += tuned::kBlockThreads) {
    target[i] = Load4(source + i);
  }
}

__device__ void FetchBatch(const Resident& r, const Order& order) {
  const uint batch = order.ready & KS_RES_BATCH_MASK;
  const uint stride = r.constant(KS_RES_CONST_INBOX_STRIDE);
  const uint text_at = stride - KS_RES_INBOX_TEXT;
  const char* inbox = reinterpret_cast<const char*>(r.inbox) + static_cast<size_t>(batch) * stride;
  char* head = reinterpret_cast<char*>(r.head(batch));
  Fetch(inbox, head, min(order.head_bytes, text_at));
  Fetch(inbox + text_at, head + r.constant(KS_RES_CONST_TEXT_AT),
        min(order.text_bytes, KS_RES_INBOX_TEXT));
}

// Block 0.
__device__ void Lead(const Resident& r) {
  __shared__ Order order;
  uint opened = r.constant(KS_RES_CONST_FIRST);  // the first thread's
  while (true) {
    if (threadIdx.x == 0) order = Watch(r, opened);
    __syncthreads();
    if (order.ready == 0u) break;
    FetchBatch(r, order);
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
      Store(r.control + KS_RES_READY_AT + opened % KS_RES_READY, order.ready);
      __threadfence();
      OpenGate(r, opened);
    }
  }
  if (threadIdx.x != 0) return;
  // Only the leader decides, so that all workers leave before the same batch. What is published
  // from now on waits for the next launch.
  __threadfence_system();
  Store(r.control + KS_RES_STOPPED, r.constant(KS_RES_CONST_LAUNCH));
  __threadfence_system();
  Store(r.pulse + KS_RES_PULSE_LEFT, r.constant(KS_RES_CONST_LAUNCH));
}

// The first lane waits until batch number `sequence` is opened. False: leave.
__device__ bool AwaitGate(const Resident& r, uint sequence) {
  while (true) {
    if (Load(r.control + KS_RES_GATE) != sequence) return true;
    if (Load(r.control + KS_RES_STOPPED) == r.constant(KS_RES_CONST_LAUNCH)) {
      __threadfence();
      return Load(r.control + KS_RES_GATE) != sequence;  // the last that was opened
    }
    __nanosleep(100);
  }
}

// A worker's share of clearing what an earlier, longer text left behind.
__device__ void Clear(const Resident& r, uint* head) {
  const uint begin = Load(head + KS_RES_HEAD_CLEAR_AT), end = Load(head + KS_RES_HEAD_CLEAR_END);
  if (begin >= end) return;
  uint* text = head + r.constant(KS_RES_CONST_TEXT_AT) / 4u;
  const uint whole = (begin + 3u) / 4u;
  const uint mine = r.worker() * tuned::kWorkerThreads + tuned::WorkerLane();
  if (begin + mine < whole * 4u) reinterpret_cast<uint8_t*>(text)[begin + mine] = 0;
  for (uint at = whole + mine; at < end / 4u; at += r.workers() * tuned::kWorkerThreads) {
    text[at] = 0u;
  }
}

// The last worker of a batch: everything the host checks, then the word it waits for.
__device__ void Answer(const Resident& r, uint batch, uint* head, uint sequence) {
  uint* answer = r.answers + static_cast<size_t>(batch) * r.constant(KS_RES_CONST_ANSWER_STRIDE);
  const uint* control = head + KS_RES_HEAD_WORDS;
  for (uint i = tuned::WorkerLane(); i < r.constant(KS_RES_CONST_CONTROL_WORDS);
       i += tuned::kWorkerThreads) {
    answer[KS_RES_ANSWER_WORDS + i] = Load(control + i);
  }
  if (tuned::WorkerLane() == 0) {
    const auto begun = *reinterpret_cast<volatile unsigned long long*>(head + KS_RES_HEAD_BEGUN);
    answer[KS_RES_ANSWER_HITS] = Load(control + KS_CTL_HITS);
    answer[KS_RES_ANSWER_NS] = static_cast<uint>(min(Nanoseconds() - begun, 0xffffffffull));
  }
  __threadfence_system();
  tuned::WorkerBarrier();
  if (tuned::WorkerLane() == 0) Store(answer + KS_RES_ANSWER_SEQUENCE, sequence + 1u);
}

// Takes the batch's table over where the block has another at hand. The decision is the same for
// all workers of a block, since each takes every batch in turn.
__device__ void BringTable(const Resident& r, BlockState& block, const uint* head) {
  const uint* constants = head + KS_RES_HEAD_CONSTANTS_AT;
  uint at = 0, generation = 0;
  const bool stands = tuned::TableStands<Memory::kChanging>(
      head + KS_RES_HEAD_WORDS, r.tables, Load(constants + KS_CONST_TABLE_WORDS),
      Load(constants + KS_CONST_TABLE), at, generation);
  if (!stands || (block.table.key == at && block.table.generation == generation)) return;
  tuned::TakeTable<Memory::kChanging>(block, r.tables, at, generation);
}

__device__ void TakeBatch(const Resident& r, BlockState& block, uint sequence) {
  const uint batch =
      Load(r.control + KS_RES_READY_AT + sequence % KS_RES_READY) & KS_RES_BATCH_MASK;
  uint* head = r.head(batch);
  if (tuned::WorkerLane() < KS_CONSTANTS) {
    block.constants[tuned::Worker()][tuned::WorkerLane()] =
        Load(head + KS_RES_HEAD_CONSTANTS_AT + tuned::WorkerLane());
  }
  if (tuned::WorkerLane() == 0) {
    atomicCAS(reinterpret_cast<unsigned long long*>(head + KS_RES_HEAD_BEGUN), 0ull, Nanoseconds());
  }
  BringTable(r, block, head);
  tuned::WorkerBarrier();
  const tuned::Bindings bindings{
      .control = head + KS_RES_HEAD_WORDS,
      .text = reinterpret_cast<const uint8_t*>(head) + r.constant(KS_RES_CONST_TEXT_AT),
      .blobs = head + r.constant(KS_RES_CONST_BLOBS_AT),
      .tables = r.tables,
      .hits =
          r.hits + static_cast<size_t>(batch) * r.constant(KS_RES_CONST_HIT_STRIDE) * KS_HIT_WORDS};
  ResidentProgram program(block, bindings, 1u);
  program.ks_run();
  Clear(r, head);
  __threadfence();
  tuned::WorkerBarrier();
  if (tuned::WorkerLane() == 0) {
    block.words[tuned::Worker()][0] = atomicAdd(head + KS_RES_HEAD_CHECKED_IN, 1u);
    __threadfence();
  }
  tuned::WorkerBarrier();
  if (block.words[tuned::Worker()][0] == r.workers() - 1u) Answer(r, batch, head, sequence);
  tuned::WorkerBarrier();
}

}  // namespace

extern "C" __global__ void __launch_bounds__(tuned::kBlockThreads, 1)
    keysieve_tuned(uint32_t* control, uint32_t* text, uint32_t* blobs, uint32_t* tables,
                   uint32_t* hits, Constants constants) {
  __shared__ BlockState block;
  if (tuned::WorkerLane() < KS_CONSTANTS) {
    block.constants[tuned::Worker()][tuned::WorkerLane()] = constants.words[tuned::WorkerLane()];
  }
  if (threadIdx.x == 0) block.table.key = 0xffffffffu;
  __syncthreads();
  uint at = 0, generation = 0;
  if (tuned::TableStands<Memory::kReadOnly>(control, tables, constants.words[KS_CONST_TABLE_WORDS],
                                            constants.words[KS_CONST_TABLE], at, generation)) {
    tuned::TakeTable<Memory::kReadOnly>(block, tables, at, generation);
  }
  EpochProgram program(block,
                       {control, reinterpret_cast<const uint8_t*>(text), blobs, tables, hits}, 0u);
  program.ks_run();
}

// Block 0 leads, the others work.
extern "C" __global__ void __launch_bounds__(tuned::kBlockThreads, 1)
    keysieve_resident(uint32_t* control, uint32_t* area, uint32_t* tables, uint32_t* answers,
                      uint32_t* hits, uint32_t* pulse, uint32_t* inbox, Constants constants) {
  __shared__ BlockState block;
  const Resident resident{control, area, tables, answers, hits, pulse, inbox, constants};
  if (constants.words[KS_RES_CONST_ABI] != KS_ABI_VERSION) return;
  if (blockIdx.x == 0) {
    Lead(resident);
    return;
  }
  if (threadIdx.x == 0) block.table.key = 0xffffffffu;
  __syncthreads();
  uint sequence = constants.words[KS_RES_CONST_FIRST];
  while (true) {
    if (tuned::WorkerLane() == 0) {
      block.words[tuned::Worker()][0] = AwaitGate(resident, sequence) ? 1u : 0u;
      __threadfence();
    }
    tuned::WorkerBarrier();
    const bool open = block.words[tuned::Worker()][0] != 0u;
    tuned::WorkerBarrier();
    if (!open) return;
    TakeBatch(resident, block, sequence);
    ++sequence;
  }
}
