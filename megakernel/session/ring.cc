// SPDX-License-Identifier: MIT
#include "megakernel/session/ring.h"

#include <algorithm>

namespace keysieve::megakernel {

void Ring::Write(uint32_t first, std::span<const Slot> slots) {
  for (size_t i = 0; i < slots.size(); ++i) {
    Slot& slot = slots_[(first + i) % slots_.size()];
    slot = slots[i];
    slot.status = KS_STATE_PUBLISHED;
  }
}

absl::StatusOr<SlotRange> Ring::Publish(std::span<const Slot> slots) {
  if (slots.size() > free()) {
    return absl::ResourceExhaustedError(Cat("the ring has ", free(), " free slots of ", size(),
                                            "; ", slots.size(),
                                            " are needed: take a result first"));
  }
  const SlotRange range{head_, static_cast<uint32_t>(slots.size())};
  Write(head_, slots);
  head_ = (head_ + range.count) % size();
  used_ += range.count;
  return range;
}

absl::StatusOr<SlotRange> Ring::Republish(SlotRange held, std::span<const Slot> slots) {
  if (slots.size() > held.count) {
    return absl::InvalidArgumentError(
        Cat(slots.size(), " slots do not fit the ", held.count, " that the batch holds"));
  }
  Write(held.first, slots);
  return SlotRange{held.first, static_cast<uint32_t>(slots.size())};
}

absl::Status Ring::Release(SlotRange range) {
  if (range.count == 0) return absl::OkStatus();
  if (range.first != tail_ || range.count > used_) {
    return absl::FailedPreconditionError(Cat("slots ", range.first, "+", range.count,
                                             " are not the oldest; those begin at ", tail_));
  }
  for (uint32_t i = 0; i < range.count; ++i) slots_[(range.first + i) % size()] = Slot{};
  tail_ = (tail_ + range.count) % size();
  used_ -= range.count;
  return absl::OkStatus();
}

}  // namespace keysieve::megakernel
