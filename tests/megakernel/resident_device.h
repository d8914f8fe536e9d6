// SPDX-License-Identifier: MIT
// The CPU device with a resident program on a thread of its own, which speaks the protocol of
// megakernel/resident.inl: leader and the only worker in one. Tests tell it to misbehave.
#pragma once

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "backends/device.h"
#include "tests/megakernel/forwarding_device.h"

namespace keysieve::test {

class ResidentDevice final : public ForwardingDevice {
 public:
  // Before each batch the program looks here.
  enum class Mood { kWell, kDies, kHangs, kForgetsTags };

  // `device` is a CPU device and outlives this one.
  explicit ResidentDevice(backends::Device& device);
  ~ResidentDevice() override;

  // The image of the resident program, for a session.
  static backends::Image ProgramImage();

  const backends::Limits& limits() const override { return limits_; }
  absl::StatusOr<std::unique_ptr<backends::Program>> Load(const backends::Image& image) override;
  bool Done(backends::Ticket ticket) override;
  absl::StatusOr<backends::StageTimes> Wait(backends::Ticket ticket,
                                            backends::Clock::time_point deadline) override;
  absl::StatusOr<backends::Ticket> StartResident(const backends::Launch& launch) override;
  absl::StatusOr<backends::Ticket> CopyThenWriteWord(std::span<const backends::Copy> uploads,
                                                     backends::BufferRange word,
                                                     uint32_t value) override;
  void Abandon() override { abandoned_ = true; }

  void set_mood(Mood mood) { mood_.store(mood); }
  bool abandoned() const { return abandoned_; }
  uint32_t launches() const { return launches_; }
  uint32_t words() const { return words_; }  // batches that came behind copies

 private:
  class Run;

  backends::Limits limits_;
  std::atomic<Mood> mood_{Mood::kWell};
  std::atomic<bool> released_{false};  // a hung program may end
  std::atomic<bool> done_{true};
  std::thread thread_;
  bool abandoned_ = false;
  uint32_t launches_ = 0;
  uint32_t words_ = 0;
};

}  // namespace keysieve::test
