// SPDX-License-Identifier: MIT
// The host's ring of work slots: a mirror of 64-byte slots with a publish cursor and a release
// cursor, both wrapping. A publish that does not fit changes nothing. Slots are given back oldest
// first, whatever became of them.
//
//   Ring ring(256);
//   SlotRange range = *ring.Publish(slots);
//   ring.ForEachStretch(range, [](uint32_t first, std::span<const Slot> slots) { ... });
//   ring.Release(range);
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "evidence/base/status.h"
#include "megakernel/abi.h"

namespace keysieve::megakernel {

// `count` slots from `first` on, modulo the ring's size.
struct SlotRange {
  uint32_t first = 0;
  uint32_t count = 0;
};

// Lane thread only.
class Ring {
 public:
  explicit Ring(uint32_t slots) : slots_(slots) {}

  uint32_t size() const { return static_cast<uint32_t>(slots_.size()); }
  uint32_t free() const { return size() - used_; }
  const Slot& at(uint32_t index) const { return slots_[index % size()]; }

  // Copies `slots` behind what is published, each with its status written last.
  // RESOURCE_EXHAUSTED if they do not fit; nothing is then published and the cursor stands.
  absl::StatusOr<SlotRange> Publish(std::span<const Slot> slots);

  // Publishes `slots` again in the first places of a range that is still held. INVALID_ARGUMENT if
  // there are more slots than places.
  absl::StatusOr<SlotRange> Republish(SlotRange held, std::span<const Slot> slots);

  // Empties the oldest published range. FAILED_PRECONDITION if `range` is not it.
  absl::Status Release(SlotRange range);

  // Calls `visit(first, stretch)` for the one or two contiguous stretches of `range`.
  template <typename Visit>
  void ForEachStretch(SlotRange range, const Visit& visit) const {
    const uint32_t before_wrap = std::min(range.count, size() - range.first);
    if (before_wrap > 0) visit(range.first, std::span(slots_).subspan(range.first, before_wrap));
    if (range.count > before_wrap) {
      visit(0u, std::span(slots_).subspan(0, range.count - before_wrap));
    }
  }

 private:
  void Write(uint32_t first, std::span<const Slot> slots);

  std::vector<Slot> slots_;
  uint32_t head_ = 0;  // next to publish
  uint32_t tail_ = 0;  // oldest published
  uint32_t used_ = 0;
};

}  // namespace keysieve::megakernel
