// SPDX-License-Identifier: MIT
// Places for profiled scans. An id is (serial << 16) + place, the serial growing with each opening,
// so a closed id can't be mistaken for the place's next owner.
#include "evidence/context_pool.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "evidence/base/status.h"

namespace keysieve::evidence {
namespace {

constexpr int kPlaceBits = 16;

uint64_t SerialOf(ContextId id) { return static_cast<uint64_t>(id) >> kPlaceBits; }

uint64_t Pack(const JournalEntry& e) {
  return uint64_t{e.annotation} << 63 | uint64_t{e.code} << 56 |
         uint64_t{static_cast<uint8_t>(e.accelerator)} << 48 | uint64_t{e.device} << 32 | e.value;
}

JournalEntry Unpack(uint64_t word) {
  JournalEntry e;
  e.annotation = (word >> 63) != 0;
  e.code = static_cast<uint8_t>(word >> 56 & 0x7f);
  e.accelerator = static_cast<Accelerator>(word >> 48 & 0xff);
  e.device = static_cast<uint16_t>(word >> 32);
  e.value = static_cast<uint32_t>(word);
  return e;
}

}  // namespace

void ContextSlot::Note(const JournalEntry& entry) noexcept {
  const uint64_t position = noted.fetch_add(1, std::memory_order_relaxed);
  if (position < kJournalEntries) {
    journal[position].store(Pack(entry), std::memory_order_relaxed);
  }
}

ContextPool::PinnedSlot::~PinnedSlot() {
  if (slot_ != nullptr) slot_->pins.fetch_sub(1, std::memory_order_release);
}

ContextPool::ContextPool(std::size_t slots, OnceSet& said) : said_(said) {
  slots = std::min<std::size_t>(slots, (1u << kPlaceBits) - 1);
  for (std::size_t i = 0; i < slots; ++i) {
    slots_.push_back(std::make_unique<ContextSlot>());
    slots_.back()->number = i + 1;
    free_.push_back(slots - 1 - i);
  }
}

absl::StatusOr<ContextId> ContextPool::Open() {
  MutexLock lock(mutex_);
  if (free_.empty()) {
    return absl::ResourceExhaustedError(Cat(
        "all ", slots_.size(), " profile contexts are open; close one or scan without profile"));
  }
  const std::size_t place = free_.back();
  free_.pop_back();
  const uint64_t serial = ++last_serial_;
  slots_[place]->serial.store(serial, std::memory_order_seq_cst);
  return static_cast<ContextId>(serial << kPlaceBits | place);
}

absl::StatusOr<ContextRecord> ContextPool::Close(ContextId id) {
  ContextSlot* slot = Find(id);
  uint64_t serial = SerialOf(id);
  // Whoever turns the serial to 0 owns the closing; a second close finds nothing.
  if (slot == nullptr || serial == 0 ||
      !slot->serial.compare_exchange_strong(serial, 0, std::memory_order_seq_cst)) {
    return absl::NotFoundError(Cat("context ", static_cast<uint64_t>(id), " is not open"));
  }
  while (slot->pins.load(std::memory_order_seq_cst) != 0) std::this_thread::yield();
  ContextRecord record = Read(id, *slot);
  slot->counters.Clear();
  slot->noted.store(0, std::memory_order_relaxed);
  said_.Release(slot->number);
  MutexLock lock(mutex_);
  free_.push_back(slot->number - 1);
  return record;
}

ContextPool::PinnedSlot ContextPool::Pin(ContextId id) noexcept {
  ContextSlot* slot = Find(id);
  if (slot == nullptr || SerialOf(id) == 0) return PinnedSlot();
  // The pin comes before the look: a close that misses the pin is seen by the look.
  slot->pins.fetch_add(1, std::memory_order_seq_cst);
  if (slot->serial.load(std::memory_order_seq_cst) != SerialOf(id)) {
    slot->pins.fetch_sub(1, std::memory_order_release);
    return PinnedSlot();
  }
  return PinnedSlot(slot);
}

ContextSlot* ContextPool::Find(ContextId id) noexcept {
  const std::size_t place = static_cast<uint64_t>(id) & ((1u << kPlaceBits) - 1);
  return place < slots_.size() ? slots_[place].get() : nullptr;
}

ContextRecord ContextPool::Read(ContextId id, const ContextSlot& slot) {
  ContextRecord record;
  record.id = id;
  record.counters = slot.counters.Read();
  const uint64_t noted = slot.noted.load(std::memory_order_relaxed);
  const std::size_t kept = std::min<uint64_t>(noted, kJournalEntries);
  record.journal_lost = noted - kept;
  for (std::size_t i = 0; i < kept; ++i) {
    record.journal.push_back(Unpack(slot.journal[i].load(std::memory_order_relaxed)));
  }
  return record;
}

}  // namespace keysieve::evidence
