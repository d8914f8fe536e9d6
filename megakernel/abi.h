// SPDX-License-Identifier: MIT
// The C++ mirror of abi.inl: the same slots, blobs and control words as structs, held to it by
// static_asserts. Nothing here adds to the layout.
#pragma once

#include <cstddef>
#include <cstdint>

#include "megakernel/abi.inl"

namespace keysieve::megakernel {

enum class SlotState : uint32_t {
  kEmpty = KS_STATE_EMPTY,
  kPublished = KS_STATE_PUBLISHED,
  kClaimed = KS_STATE_CLAIMED,
  kDone = KS_STATE_DONE,
  kWaiting = KS_STATE_WAITING,
  kYielded = KS_STATE_YIELDED,
  kRequeue = KS_STATE_REQUEUE,
  kFault = KS_STATE_FAULT,
};

enum class Opcode : uint32_t {
  kNoop = KS_OP_NOOP,
  kScan = KS_OP_SCAN,
  kConfirm = KS_OP_CONFIRM,
  kFence = KS_OP_FENCE,
  kLog = KS_OP_LOG,
  kShutdown = KS_OP_SHUTDOWN,
};

// One ring slot. Ranges are byte positions in the epoch's text.
struct Slot {
  uint32_t status = KS_STATE_EMPTY;
  uint32_t opcode = KS_OP_NOOP;
  uint32_t tenant = 0;  // with priority and flags
  uint32_t epoch = 0;
  uint32_t table = 0;
  uint32_t generation = 0;
  uint32_t begin = 0;  // for other opcodes: arg0, arg1, arg2
  uint32_t end = 0;
  uint32_t readable = 0;
  uint32_t limits = 0;
  uint32_t hits = 0;  // from here on written by the program
  uint32_t pairs = 0;
  uint32_t steps = 0;
  uint32_t survivors = 0;
  uint32_t spilled = 0;
  uint32_t dense = 0;
};

// One stretch of one blob in the epoch's text.
struct Blob {
  uint32_t begin = 0;
  uint32_t end = 0;
  uint32_t own_begin = 0;
  uint32_t own_end = 0;
  uint32_t flags = 0;
  uint32_t tenant = 0;
  uint32_t reserved[2] = {0, 0};
};

struct DirectoryEntry {
  uint32_t generation = 0;
  uint32_t at = 0;
  uint32_t size = 0;
  uint32_t reserved = 0;
};

struct DebugRecord {
  uint32_t slot = 0;
  uint32_t code = 0;
  uint32_t arg0 = 0;
  uint32_t arg1 = 0;
};

struct HitRecord {
  uint32_t tag = 0;       // literal id and slot
  uint32_t position = 0;  // of the first byte
  uint32_t literal() const { return tag & KS_HIT_LITERAL_MASK; }
  uint32_t slot() const { return tag >> KS_HIT_LITERAL_BITS; }
};

#define KS_MIRRORS(type, field, word) static_assert(offsetof(type, field) == (word)*4u)
KS_MIRRORS(Slot, status, KS_SLOT_STATUS);
KS_MIRRORS(Slot, opcode, KS_SLOT_OPCODE);
KS_MIRRORS(Slot, tenant, KS_SLOT_TENANT);
KS_MIRRORS(Slot, epoch, KS_SLOT_EPOCH);
KS_MIRRORS(Slot, table, KS_SLOT_TABLE);
KS_MIRRORS(Slot, generation, KS_SLOT_GENERATION);
KS_MIRRORS(Slot, begin, KS_SLOT_BEGIN);
KS_MIRRORS(Slot, end, KS_SLOT_END);
KS_MIRRORS(Slot, readable, KS_SLOT_READABLE);
KS_MIRRORS(Slot, limits, KS_SLOT_LIMITS);
KS_MIRRORS(Slot, hits, KS_SLOT_HITS);
KS_MIRRORS(Slot, pairs, KS_SLOT_PAIRS);
KS_MIRRORS(Slot, steps, KS_SLOT_STEPS);
KS_MIRRORS(Slot, survivors, KS_SLOT_SURVIVORS);
KS_MIRRORS(Slot, spilled, KS_SLOT_SPILLED);
KS_MIRRORS(Slot, dense, KS_SLOT_DENSE);
KS_MIRRORS(Blob, begin, KS_BLOB_BEGIN);
KS_MIRRORS(Blob, end, KS_BLOB_END);
KS_MIRRORS(Blob, own_begin, KS_BLOB_OWN_BEGIN);
KS_MIRRORS(Blob, own_end, KS_BLOB_OWN_END);
KS_MIRRORS(Blob, flags, KS_BLOB_FLAGS);
KS_MIRRORS(Blob, tenant, KS_BLOB_TENANT);
KS_MIRRORS(DirectoryEntry, generation, KS_DIR_GENERATION);
KS_MIRRORS(DirectoryEntry, at, KS_DIR_AT);
KS_MIRRORS(DirectoryEntry, size, KS_DIR_SIZE);
KS_MIRRORS(DebugRecord, slot, KS_LOG_SLOT);
KS_MIRRORS(DebugRecord, code, KS_LOG_CODE);
KS_MIRRORS(DebugRecord, arg0, KS_LOG_ARG0);
KS_MIRRORS(DebugRecord, arg1, KS_LOG_ARG1);
#undef KS_MIRRORS
static_assert(sizeof(Slot) == KS_SLOT_WORDS * 4u && sizeof(Slot) == 64);
static_assert(sizeof(Blob) == KS_BLOB_WORDS * 4u);
static_assert(sizeof(DirectoryEntry) == KS_DIR_WORDS * 4u);
static_assert(sizeof(DebugRecord) == KS_LOG_WORDS * 4u);
static_assert(sizeof(HitRecord) == KS_HIT_WORDS * 4u && sizeof(HitRecord) == 8);
static_assert(KS_CTL_OBSERVABLES_AT + KS_CTL_OBSERVABLES <= KS_CTL_DIRECTORY_AT);
static_assert(KS_CTL_DIRECTORY_AT + KS_CTL_DIRECTORY * KS_DIR_WORDS <= KS_CTL_LOG_AT);
static_assert(KS_CTL_LOG_AT + KS_CTL_LOG_RECORDS * KS_LOG_WORDS <= KS_CTL_TENANTS_AT);
static_assert(KS_MAX_SLOTS == KS_HIT_SLOT_MASK + 1u);

}  // namespace keysieve::megakernel
