// SPDX-License-Identifier: MIT
// Runs a test once for each device this machine has, whichever backend it belongs to, and once as a
// printed skip for each backend that has none.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backends/device.h"
#include "tests/backends/images/probe_kernel.h"
#include "tests/support/counting_recorder.h"

namespace keysieve::test {

struct Subject {
  backends::BackendKind backend = backends::BackendKind::kCpu;
  std::optional<backends::Identity> identity;  // none: the backend has no device, and why
  std::string reason;
};
std::vector<Subject> Subjects();
std::string SubjectName(const testing::TestParamInfo<Subject>& info);

// What a device needs for one probe launch over `count` words, with odd but aligned offsets.
struct ProbeSet {
  std::unique_ptr<backends::Buffer> staging;  // pinned: words in, then words out, then the tally
  std::unique_ptr<backends::Buffer> in;
  std::unique_ptr<backends::Buffer> out;
  std::unique_ptr<backends::Buffer> tally;
  uint32_t count = 0;
  uint64_t skip = 0;  // bytes before each bound range
  std::span<uint32_t> staged_in() const;
  std::span<uint32_t> staged_out() const;
  uint32_t staged_tally() const;
};

class DeviceTest : public testing::TestWithParam<Subject> {
 protected:
  void SetUp() override;

  // Device or host memory; fails the test and throws away what it cannot get.
  std::unique_ptr<backends::Buffer> Get(backends::MemoryKind kind, uint64_t bytes);
  ProbeSet MakeSet(uint32_t count);
  // Uploads in, launches, reads out and tally back.
  absl::StatusOr<backends::Ticket> SubmitProbe(const ProbeSet& set, uint32_t addend,
                                               uint32_t rounds = 0);
  backends::StageTimes WaitFor(backends::Ticket ticket);
  bool accelerated() const { return GetParam().backend != backends::BackendKind::kCpu; }

  CountingRecorder recorder_;
  std::unique_ptr<backends::Device> device_;
  std::unique_ptr<backends::Program> probe_;
};

inline backends::Clock::time_point In(std::chrono::seconds wait) {
  return backends::Clock::now() + wait;
}

}  // namespace keysieve::test
