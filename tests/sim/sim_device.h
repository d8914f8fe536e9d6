// SPDX-License-Identifier: MIT
// A device that fails by dice: the fake device on its virtual clock, whose script is written as the
// calls come in, and two faults that only a driver between can make: a completion that is signalled
// before its data has arrived, and hit records or slots that come back damaged.
#pragma once

#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tests/megakernel/forwarding_device.h"
#include "tests/support/counting_recorder.h"
#include "tests/support/fake_device.h"

namespace keysieve::sim {

// Chances of each fault at each opportunity, in thousandths.
struct Dice {
  unsigned refuse = 0;    // Submit() fails
  unsigned fail = 0;      // the dispatch fails
  unsigned hang = 0;      // nothing completes any more
  unsigned lose = 0;      // the device is gone
  unsigned slow = 0;      // by up to ten virtual seconds
  unsigned corrupt = 0;   // a hit record or a slot comes back damaged
  unsigned spurious = 0;  // completion without the data
  unsigned no_memory = 0;
};

// What devices did, as their statuses said.
struct Seen {
  uint64_t dispatch_faults = 0;
  uint64_t memory_faults = 0;
  uint64_t damages = 0;  // data that did not come back as the device wrote it
  bool hung = false;
  bool lost = false;
};

class SimDevice final : public test::ForwardingDevice {
 public:
  // All references outlive it.
  SimDevice(test::FakeDevice& fake, Dice dice, std::mt19937_64& random, Seen& seen);

  absl::StatusOr<std::unique_ptr<backends::Buffer>> Allocate(backends::MemoryKind kind,
                                                             uint64_t bytes) override;
  absl::StatusOr<backends::Ticket> Submit(const backends::Submission& submission) override;
  absl::StatusOr<backends::StageTimes> Wait(backends::Ticket ticket,
                                            backends::Clock::time_point deadline) override;

 private:
  bool Roll(unsigned thousandths) { return random_() % 1000 < thousandths; }
  void Damage(const std::vector<backends::Copy>& readbacks);

  test::FakeDevice& fake_;
  const Dice dice_;
  std::mt19937_64& random_;
  Seen& seen_;
  backends::Ticket last_ticket_ = 0;
  std::map<backends::Ticket, std::vector<backends::Copy>> readbacks_;  // of launches in flight
};

}  // namespace keysieve::sim
