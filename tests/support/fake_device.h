// SPDX-License-Identifier: MIT
// A device for tests of sessions and lanes: host kernels on a virtual clock, with the faults a
// script names. Deterministic, single-threaded, no sleeping. Work runs at Submit(), in order; what
// it reads back is delivered only when Wait() or Done() first sees the ticket complete, so that a
// test notices a host that looks too early.
//
//   FakeDevice device({.script = {.hang_ticket = 3}}, &recorder);
//   auto times = device.Wait(3, Clock::now() + 10s);   // DEADLINE_EXCEEDED at once, clock moved on
//
// The virtual clock starts at the real one's time and moves only in Wait() (to the completion or to
// the deadline, whichever is first) and by `poll` in each Done(), so that polling ends too. It
// reports to the recorder, as an accelerator does, with what it moved and how long its virtual
// stages took.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "backends/cpu/host_work.h"
#include "backends/device.h"

namespace keysieve::test {

// Flips bits of what one ticket reads back: `mask` on byte `offset` of its readbacks laid end to
// end.
struct Corruption {
  uint64_t offset = 0;
  uint8_t mask = 0xFF;
};

// Submissions and allocations are counted from 1; tickets are the submissions that were accepted.
struct FakeScript {
  std::set<uint64_t> refuse_submits;        // the Nth Submit() call is INTERNAL, nothing starts
  std::set<backends::Ticket> fail_tickets;  // its Wait() is INTERNAL, its readbacks never arrive
  backends::Ticket hang_ticket = 0;         // it and all later ones never complete; 0 = none
  backends::Ticket lose_ticket = 0;  // its Wait() is DATA_LOSS, as is everything after; 0 = none
  std::map<backends::Ticket, Corruption> corrupt;
  std::set<uint64_t> refuse_allocations;  // the Nth Allocate() is RESOURCE_EXHAUSTED
  std::map<backends::Ticket, std::chrono::nanoseconds> slow;  // its kernel takes this much longer
};

struct FakeOptions {
  FakeScript script;
  backends::Identity identity{.backend = backends::BackendKind::kCpu, .name = "fake device"};
  backends::Limits limits{.max_buffer_bytes = 1ull << 30,
                          .memory_bytes = 4ull << 30,
                          .max_workgroups = 65535,
                          .max_workgroup_size = 1024,
                          .shared_memory_bytes = 32768,
                          .offset_alignment = 16};
  backends::Capabilities capabilities{.kernel_timestamps = true};
  std::chrono::nanoseconds upload{2000};  // virtual time of each stage
  std::chrono::nanoseconds kernel{10000};
  std::chrono::nanoseconds readback{2000};
  std::chrono::nanoseconds queue{1000};  // from submission to start on an idle device
  std::chrono::nanoseconds poll{500};    // each Done() takes this long
  // Run a submission when it is seen complete instead of at Submit(): notices a host that changes
  // an upload's source too early.
  bool run_late = false;
};

class FakeDevice final : public backends::Device {
 public:
  // `recorder` may be null; it outlives the device.
  explicit FakeDevice(FakeOptions options = {}, evidence::DeviceRecorder* recorder = nullptr);
  ~FakeDevice() override;

  const backends::Identity& identity() const override { return options_.identity; }
  const backends::Limits& limits() const override { return options_.limits; }
  const backends::Capabilities& capabilities() const override { return options_.capabilities; }
  backends::Health health() const override;

  absl::StatusOr<std::unique_ptr<backends::Buffer>> Allocate(backends::MemoryKind kind,
                                                             uint64_t bytes) override;
  // Takes an image of the fake's own backend kind that has a host kernel.
  absl::StatusOr<std::unique_ptr<backends::Program>> Load(const backends::Image& image) override;
  absl::StatusOr<backends::Ticket> Submit(const backends::Submission& submission) override;
  bool Done(backends::Ticket ticket) override;
  absl::StatusOr<backends::StageTimes> Wait(backends::Ticket ticket,
                                            backends::Clock::time_point deadline) override;
  absl::StatusOr<backends::Sample> ReadSample() override;
  absl::StatusOr<backends::Ticket> StartResident(const backends::Launch& launch) override;
  absl::StatusOr<backends::Ticket> CopyThenWriteWord(std::span<const backends::Copy> uploads,
                                                     backends::BufferRange word,
                                                     uint32_t value) override;
  void Abandon() override;

  // What tests steer and see.
  FakeScript& script() { return options_.script; }
  backends::Clock::time_point now() const { return now_; }
  void Advance(std::chrono::nanoseconds by) { now_ += by; }
  bool abandoned() const { return abandoned_; }
  uint64_t calls_after_abandon() const { return calls_after_abandon_; }
  uint64_t submits() const { return submits_; }
  uint64_t allocations() const { return allocations_; }
  // Buffers alive now, and their bytes.
  uint64_t live_buffers() const;
  uint64_t live_bytes() const;
  size_t in_flight() const { return flights_.size(); }

 private:
  struct Accounting;
  class FakeBuffer;
  struct Flight {
    backends::HostWork work;
    std::vector<std::vector<std::byte>> snapshot;
    backends::Clock::time_point submitted;
    backends::Clock::time_point completes;
    backends::StageTimes times;
    evidence::DispatchRecord record;
    bool delivered = false;
  };

  absl::Status Usable();
  bool Hangs(backends::Ticket ticket) const;
  bool Lost(backends::Ticket ticket) const;
  Flight Schedule(const backends::Submission& submission, backends::Ticket ticket);
  void Run(backends::Ticket ticket, Flight& flight);
  void Deliver(backends::Ticket ticket, Flight& flight);
  absl::StatusOr<backends::StageTimes> Complete(backends::Ticket ticket);
  absl::Status Fault(evidence::FaultKind kind, absl::Status status);
  absl::Status Lose();

  FakeOptions options_;
  evidence::DeviceRecorder* const recorder_;
  const std::shared_ptr<backends::MemoryBudget> budget_;
  const std::shared_ptr<Accounting> accounting_;
  backends::Clock::time_point now_;
  backends::Clock::time_point idle_from_;  // when the device has finished what was submitted
  std::map<backends::Ticket, Flight> flights_;
  uint64_t submits_ = 0;
  uint64_t allocations_ = 0;
  backends::Ticket issued_ = 0;
  bool lost_ = false;
  bool abandoned_ = false;
  uint64_t calls_after_abandon_ = 0;
};

}  // namespace keysieve::test
