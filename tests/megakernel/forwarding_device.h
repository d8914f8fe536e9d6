// SPDX-License-Identifier: MIT
// A device that passes everything on to another: tests override what they want to see or change.
#pragma once

#include <memory>

#include "backends/device.h"

namespace keysieve::test {

class ForwardingDevice : public backends::Device {
 public:
  // `device` outlives this one.
  explicit ForwardingDevice(backends::Device& device) : device_(device) {}
  const backends::Identity& identity() const override { return device_.identity(); }
  const backends::Limits& limits() const override { return device_.limits(); }
  const backends::Capabilities& capabilities() const override { return device_.capabilities(); }
  backends::Health health() const override { return device_.health(); }
  absl::StatusOr<std::unique_ptr<backends::Buffer>> Allocate(backends::MemoryKind kind,
                                                             uint64_t bytes) override {
    return device_.Allocate(kind, bytes);
  }
  absl::StatusOr<std::unique_ptr<backends::Program>> Load(const backends::Image& image) override {
    return device_.Load(image);
  }
  absl::StatusOr<backends::Ticket> Submit(const backends::Submission& submission) override {
    return device_.Submit(submission);
  }
  bool Done(backends::Ticket ticket) override { return device_.Done(ticket); }
  absl::StatusOr<backends::StageTimes> Wait(backends::Ticket ticket,
                                            backends::Clock::time_point deadline) override {
    return device_.Wait(ticket, deadline);
  }
  absl::StatusOr<backends::Sample> ReadSample() override { return device_.ReadSample(); }
  absl::StatusOr<backends::Ticket> StartResident(const backends::Launch& launch) override {
    return device_.StartResident(launch);
  }
  absl::StatusOr<backends::Ticket> CopyThenWriteWord(std::span<const backends::Copy> uploads,
                                                     backends::BufferRange word,
                                                     uint32_t value) override {
    return device_.CopyThenWriteWord(uploads, word, value);
  }
  void Abandon() override { device_.Abandon(); }

 private:
  backends::Device& device_;
};

}  // namespace keysieve::test
