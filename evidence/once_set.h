// SPDX-License-Identifier: MIT
// Remembers what was already said once: items 0..kOnceItems-1 for each (context, device). At most
// `capacity` items are remembered at a time; an item that no longer fits is lost, and counted the
// first time only. Closing a context gives its places back. Lock-free, allocates only when made.
//
//   OnceSet said({.contexts = 256, .devices = 64, .capacity = 4096});
//   said.Insert(context, device, 0);  // kFirst, then kRepeat
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace keysieve::evidence {

// Identity, and one gap for each capability.
inline constexpr std::size_t kOnceItems = 5;

class OnceSet {
 public:
  struct Options {
    std::size_t contexts = 1;
    std::size_t devices = 1;
    std::size_t capacity = 1;
    uint64_t loss_limit = std::numeric_limits<uint64_t>::max();  // where the loss count stays
  };
  enum class Outcome : uint8_t { kFirst, kRepeat, kLost };

  explicit OnceSet(const Options& options)
      : options_(options), cells_(options.contexts * options.devices) {}

  // `context`, `device` and `item` lie below their counts. Any thread.
  Outcome Insert(std::size_t context, std::size_t device, std::size_t item) noexcept;
  // True if every item of the bit mask was inserted or lost before: nothing is left to say.
  bool AllSeen(std::size_t context, std::size_t device, uint32_t items) const noexcept {
    const uint32_t cell = Cell(context, device).load(std::memory_order_acquire);
    return ((cell | cell >> kLostShift) & items) == items;
  }
  // Forgets a context. Only while nothing inserts under it.
  void Release(std::size_t context) noexcept;

  std::size_t size() const noexcept { return used_.load(std::memory_order_relaxed); }
  uint64_t losses() const noexcept { return losses_.load(std::memory_order_relaxed); }

 private:
  static constexpr uint32_t kLostShift = 16;  // low half: inserted; high half: lost

  const std::atomic<uint32_t>& Cell(std::size_t context, std::size_t device) const {
    return cells_[context * options_.devices + device];
  }
  std::atomic<uint32_t>& Cell(std::size_t context, std::size_t device) {
    return cells_[context * options_.devices + device];
  }
  bool Reserve() noexcept;
  Outcome Lose(std::atomic<uint32_t>& cell, uint32_t bit) noexcept;

  const Options options_;
  std::vector<std::atomic<uint32_t>> cells_;
  std::atomic<std::size_t> used_{0};
  std::atomic<uint64_t> losses_{0};
};

}  // namespace keysieve::evidence
