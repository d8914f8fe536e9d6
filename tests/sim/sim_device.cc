// SPDX-License-Identifier: MIT
// See sim_device.h.
#include "tests/sim/sim_device.h"

#include <cstring>

#include "megakernel/abi.inl"

namespace keysieve::sim {

using backends::Copy;
using backends::Ticket;

SimDevice::SimDevice(test::FakeDevice& fake, Dice dice, std::mt19937_64& random, Seen& seen)
    : ForwardingDevice(fake), fake_(fake), dice_(dice), random_(random), seen_(seen) {}

absl::StatusOr<std::unique_ptr<backends::Buffer>> SimDevice::Allocate(backends::MemoryKind kind,
                                                                      uint64_t bytes) {
  if (Roll(dice_.no_memory)) fake_.script().refuse_allocations.insert(fake_.allocations() + 1);
  auto buffer = fake_.Allocate(kind, bytes);
  if (absl::IsResourceExhausted(buffer.status())) ++seen_.memory_faults;
  return buffer;
}

absl::StatusOr<Ticket> SimDevice::Submit(const backends::Submission& submission) {
  test::FakeScript& script = fake_.script();
  const Ticket next = last_ticket_ + 1;
  const bool launch = submission.launch != nullptr;
  if (launch && Roll(dice_.refuse)) script.refuse_submits.insert(fake_.submits() + 1);
  if (launch && Roll(dice_.fail)) script.fail_tickets.insert(next);
  if (launch && script.hang_ticket == 0 && Roll(dice_.hang)) script.hang_ticket = next;
  if (script.lose_ticket == 0 && Roll(dice_.lose)) script.lose_ticket = next;
  if (Roll(dice_.slow)) script.slow[next] = std::chrono::milliseconds(random_() % 10000);
  const auto ticket = fake_.Submit(submission);
  if (absl::IsInternal(ticket.status())) ++seen_.dispatch_faults;
  if (!ticket.ok()) return ticket;
  last_ticket_ = *ticket;
  if (launch) {
    readbacks_[*ticket].assign(submission.readbacks.begin(), submission.readbacks.end());
  }
  return ticket;
}

absl::StatusOr<backends::StageTimes> SimDevice::Wait(Ticket ticket,
                                                     backends::Clock::time_point deadline) {
  const auto launched = readbacks_.find(ticket);
  const bool is_launch = launched != readbacks_.end();
  const bool early = is_launch && Roll(dice_.spurious);
  std::vector<std::vector<std::byte>> before;
  if (early) {
    for (const Copy& copy : launched->second) {
      const std::byte* at = copy.to.buffer->host() + copy.to.offset;
      before.emplace_back(at, at + copy.to.bytes);
    }
  }
  auto times = fake_.Wait(ticket, deadline);
  if (absl::IsDeadlineExceeded(times.status())) {
    seen_.hung =
        seen_.hung || (fake_.script().hang_ticket != 0 && ticket >= fake_.script().hang_ticket);
    return times;
  }
  if (absl::IsInternal(times.status())) ++seen_.dispatch_faults;
  if (absl::IsDataLoss(times.status())) seen_.lost = true;
  if (times.ok() && early) {
    ++seen_.damages;
    for (size_t i = 0; i < before.size(); ++i) {
      const Copy& copy = launched->second[i];
      std::memcpy(copy.to.buffer->host() + copy.to.offset, before[i].data(), before[i].size());
    }
  } else if (times.ok() && is_launch && Roll(dice_.corrupt)) {
    Damage(launched->second);
  }
  if (is_launch) readbacks_.erase(launched);
  return times;
}

// Overwrites one word of one of the things read back with all ones: the control block comes first,
// then slots, then hit records. The words chosen are those that an integrity check can tell: a
// damaged position that lies within its slot looks like any other.
void SimDevice::Damage(const std::vector<Copy>& readbacks) {
  static constexpr uint32_t kControlWords[] = {KS_CTL_MAGIC, KS_CTL_VERSION, KS_CTL_EPOCH,
                                               KS_CTL_DONE, KS_CTL_HITS};
  static constexpr uint32_t kSlotWords[] = {KS_SLOT_STATUS, KS_SLOT_OPCODE, KS_SLOT_TENANT,
                                            KS_SLOT_EPOCH, KS_SLOT_END};
  static constexpr uint32_t kHitWords[] = {0, 1};  // tag, position
  const size_t which = random_() % readbacks.size();
  const Copy& copy = readbacks[which];
  const bool is_hits = copy.traffic == evidence::Traffic::kHits;
  const std::span<const uint32_t> words = is_hits      ? std::span<const uint32_t>(kHitWords)
                                          : which == 0 ? std::span<const uint32_t>(kControlWords)
                                                       : std::span<const uint32_t>(kSlotWords);
  const uint64_t at = uint64_t{words[random_() % words.size()]} * 4;
  const uint32_t all_ones = ~0u;
  if (at + 4 > copy.to.bytes) return;
  std::memcpy(copy.to.buffer->host() + copy.to.offset + at, &all_ones, 4);
  ++seen_.damages;
}

}  // namespace keysieve::sim
