// SPDX-License-Identifier: MIT
// The contexts that work is recorded under besides the process: one for each profiled scan. A fixed
// number of them is made at the start, so that recording into one never allocates. Opening and
// closing take a lock; recording pins the context, which a close waits for, so that nothing
// recorded late can reach the next owner of the place.
//
//   ContextId id = *pool.Open();
//   if (auto pin = pool.Pin(id)) pin->counters.Add(cell, 1);
//   ContextRecord record = *pool.Close(id);
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "evidence/base/mutex.h"
#include "evidence/cells.h"
#include "evidence/once_set.h"
#include "evidence/scan_recorder.h"

namespace keysieve::evidence {

// One line of a scan's journal: an event, or an annotation that goes with one.
struct JournalEntry {
  bool annotation = false;
  uint8_t code = 0;  // of Event or Annotation
  Accelerator accelerator = Accelerator::kCuda;
  uint16_t device = 0;
  uint32_t value = 0;  // FaultKind, capability number or the annotation's value; else 0

  bool operator==(const JournalEntry&) const = default;
};

inline constexpr std::size_t kJournalEntries = 128;

// What was recorded under one context, over every device. Work shared by several scans counts in
// full for each of them.
struct ContextRecord {
  ContextId id = ContextId::kProcess;
  CounterValues counters;
  std::vector<JournalEntry> journal;  // in order
  uint64_t journal_lost = 0;          // entries past kJournalEntries
};

struct ContextSlot {
  void Note(const JournalEntry& entry) noexcept;

  std::size_t number = 0;  // of its OnceSet context; the process has 0
  CounterCells counters;

 private:
  friend class ContextPool;
  std::atomic<uint64_t> serial{0};  // of the owner's id; 0 while closed
  std::atomic<uint32_t> pins{0};
  std::atomic<uint64_t> noted{0};
  std::array<std::atomic<uint64_t>, kJournalEntries> journal{};
};

class ContextPool {
 public:
  // Keeps a context open while it lives. Empty if the context is closed.
  class PinnedSlot {
   public:
    PinnedSlot() = default;
    explicit PinnedSlot(ContextSlot* slot) : slot_(slot) {}
    PinnedSlot(const PinnedSlot&) = delete;
    PinnedSlot& operator=(const PinnedSlot&) = delete;
    ~PinnedSlot();
    explicit operator bool() const { return slot_ != nullptr; }
    ContextSlot* operator->() const { return slot_; }
    ContextSlot& operator*() const { return *slot_; }

   private:
    ContextSlot* slot_ = nullptr;
  };

  // `said` outlives the pool and has room for contexts 0..slots.
  ContextPool(std::size_t slots, OnceSet& said);

  // RESOURCE_EXHAUSTED if every place is taken.
  absl::StatusOr<ContextId> Open();
  // NOT_FOUND if it is not open. Blocks only while a recording into it is under way.
  absl::StatusOr<ContextRecord> Close(ContextId id);
  // Lock-free. Any thread.
  PinnedSlot Pin(ContextId id) noexcept;

  std::size_t slots() const { return slots_.size(); }

 private:
  ContextSlot* Find(ContextId id) noexcept;
  static ContextRecord Read(ContextId id, const ContextSlot& slot);

  OnceSet& said_;
  std::vector<std::unique_ptr<ContextSlot>> slots_;
  Mutex mutex_;
  std::vector<std::size_t> free_ ABSL_GUARDED_BY(mutex_);
  uint64_t last_serial_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace keysieve::evidence
