// SPDX-License-Identifier: MIT
// The bounded once-per-context set: two bits for each item, and a count of the places taken.
#include "evidence/once_set.h"

#include <bit>

namespace keysieve::evidence {

OnceSet::Outcome OnceSet::Insert(std::size_t context, std::size_t device,
                                 std::size_t item) noexcept {
  std::atomic<uint32_t>& cell = Cell(context, device);
  const uint32_t bit = 1u << item;
  if (AllSeen(context, device, bit)) return Outcome::kRepeat;
  if (!Reserve()) return Lose(cell, bit);
  if (cell.fetch_or(bit, std::memory_order_acq_rel) & bit) {
    used_.fetch_sub(1, std::memory_order_relaxed);  // another thread was first
    return Outcome::kRepeat;
  }
  return Outcome::kFirst;
}

void OnceSet::Release(std::size_t context) noexcept {
  for (std::size_t device = 0; device < options_.devices; ++device) {
    const uint32_t old = Cell(context, device).exchange(0, std::memory_order_acq_rel);
    const uint32_t inserted = old & ((1u << kLostShift) - 1);
    used_.fetch_sub(static_cast<std::size_t>(std::popcount(inserted)), std::memory_order_relaxed);
  }
}

bool OnceSet::Reserve() noexcept {
  std::size_t used = used_.load(std::memory_order_relaxed);
  while (used < options_.capacity) {
    if (used_.compare_exchange_weak(used, used + 1, std::memory_order_relaxed)) return true;
  }
  return false;
}

OnceSet::Outcome OnceSet::Lose(std::atomic<uint32_t>& cell, uint32_t bit) noexcept {
  const uint32_t lost = bit << kLostShift;
  if (cell.fetch_or(lost, std::memory_order_acq_rel) & lost) return Outcome::kRepeat;
  uint64_t losses = losses_.load(std::memory_order_relaxed);
  while (losses < options_.loss_limit &&
         !losses_.compare_exchange_weak(losses, losses + 1, std::memory_order_relaxed)) {
  }
  return Outcome::kLost;
}

}  // namespace keysieve::evidence
