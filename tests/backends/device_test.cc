// SPDX-License-Identifier: MIT
// What every device promises, run on every device there is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "tests/backends/device_fixture.h"

namespace keysieve::test {
namespace {

using backends::Buffer;
using backends::BufferRange;
using backends::Copy;
using backends::Fill;
using backends::Launch;
using backends::MemoryKind;
using backends::StageTimes;
using backends::Ticket;
using evidence::FaultKind;
using evidence::Traffic;
using std::chrono::seconds;

std::vector<uint8_t> Noise(size_t bytes, uint32_t seed) {
  std::vector<uint8_t> noise(bytes);
  for (uint8_t& b : noise) b = static_cast<uint8_t>((seed = seed * 69069u + 12345u) >> 23);
  return noise;
}

TEST_P(DeviceTest, SaysWhatItIs) {
  EXPECT_EQ(device_->identity().backend, GetParam().backend);
  EXPECT_EQ(device_->identity().index, GetParam().identity->index);
  EXPECT_FALSE(device_->identity().name.empty());
  EXPECT_GT(device_->limits().max_buffer_bytes, 0u);
  EXPECT_GT(device_->limits().max_workgroups, 0u);
  EXPECT_GE(device_->limits().max_workgroup_size, kProbeWidth);
  EXPECT_GT(device_->limits().offset_alignment, 0u);
  EXPECT_EQ(device_->health(), backends::Health::kHealthy);
}

TEST_P(DeviceTest, CopiesComeBackAsTheyWent) {
  // Odd sizes and odd offsets: bytes, not words.
  const std::vector<uint8_t> sent = Noise(70001, 7);
  const auto staging = Get(MemoryKind::kPinned, 150000);
  const auto table = Get(MemoryKind::kTable, 80000);
  const auto device = Get(MemoryKind::kDevice, 90000);
  std::memset(staging->host(), 0, 150000);
  std::memcpy(staging->host() + 5, sent.data(), sent.size());
  const uint64_t n = sent.size();
  const Copy to_table[] = {{{staging.get(), 5, n}, {table.get(), 3, n}, Traffic::kTable}};
  WaitFor(*device_->Submit({.uploads = to_table}));
  const Copy across[] = {{{table.get(), 3, n}, {device.get(), 11, n}}};
  WaitFor(*device_->Submit({.uploads = across}));
  const Copy back[] = {{{device.get(), 11, n}, {staging.get(), 75001, n}, Traffic::kHits}};
  WaitFor(*device_->Submit({.readbacks = back}));
  EXPECT_EQ(std::memcmp(staging->host() + 75001, sent.data(), n), 0);
  EXPECT_EQ(staging->host()[75000], std::byte{0}) << "a copy wrote before its range";
  EXPECT_EQ(staging->host()[75001 + n], std::byte{0}) << "a copy wrote past its range";
}

TEST_P(DeviceTest, FillsTouchTheirRangeAlone) {
  const auto device = Get(MemoryKind::kDevice, 4096);
  const auto staging = Get(MemoryKind::kPinned, 4096);
  const Fill whole[] = {{{device.get(), 0, 4096}, 0x01010101}};
  WaitFor(*device_->Submit({.fills = whole}));
  const Fill part[] = {{{device.get(), 8, 1000}, 0xA5B6C7D8}};
  const Copy back[] = {{{device.get(), 0, 4096}, {staging.get(), 0, 4096}}};
  WaitFor(*device_->Submit({.fills = part, .readbacks = back}));
  const auto* words = reinterpret_cast<const uint32_t*>(staging->host());
  for (uint32_t i = 0; i < 1024; ++i) {
    ASSERT_EQ(words[i], i >= 2 && i < 252 ? 0xA5B6C7D8u : 0x01010101u) << "word " << i;
  }
}

TEST_P(DeviceTest, UploadsLandOnTopOfFills) {
  const auto device = Get(MemoryKind::kDevice, 64);
  const auto staging = Get(MemoryKind::kPinned, 128);
  std::memset(staging->host(), 0x5A, 128);
  const Fill fill[] = {{{device.get(), 0, 64}, 0}};
  const Copy upload[] = {{{staging.get(), 0, 16}, {device.get(), 16, 16}}};
  const Copy back[] = {{{device.get(), 0, 64}, {staging.get(), 64, 64}}};
  WaitFor(*device_->Submit({.fills = fill, .uploads = upload, .readbacks = back}));
  for (int i = 0; i < 64; ++i) {
    const std::byte expected = i >= 16 && i < 32 ? std::byte{0x5A} : std::byte{0};
    ASSERT_EQ(staging->host()[64 + i], expected) << "byte " << i;
  }
}

TEST_P(DeviceTest, AProgramSeesItsBindingsAndConstants) {
  const ProbeSet set = MakeSet(1000);  // not a multiple of the workgroup
  for (uint32_t i = 0; i < set.count; ++i) set.staged_in()[i] = i * i;
  const StageTimes times = WaitFor(*SubmitProbe(set, 77));
  for (uint32_t i = 0; i < set.count; ++i) ASSERT_EQ(set.staged_out()[i], i * i + 77) << i;
  EXPECT_EQ(set.staged_tally(), 1000u);
  ASSERT_TRUE(times.kernel_ns.has_value() || !device_->capabilities().kernel_timestamps);
}

TEST_P(DeviceTest, APipelineOfRoundsIsComputedExactly) {
  const ProbeSet set = MakeSet(64);
  for (uint32_t i = 0; i < set.count; ++i) set.staged_in()[i] = 1u << (i % 32);
  WaitFor(*SubmitProbe(set, 5, 2));
  // step(step(x)) + 5, by hand: x*a*a + c*a + c + 5.
  const uint64_t a = 1664525, c = 1013904223;
  for (uint32_t i = 0; i < set.count; ++i) {
    const uint64_t x = 1u << (i % 32);
    ASSERT_EQ(set.staged_out()[i], static_cast<uint32_t>(((x * a + c) & 0xFFFFFFFF) * a + c + 5));
  }
}

TEST_P(DeviceTest, ProgramsReachPinnedMemoryToo) {
  const auto words = Get(MemoryKind::kPinned, 4096 * 3);
  auto* host = reinterpret_cast<uint32_t*>(words->host());
  for (uint32_t i = 0; i < 3072; ++i) host[i] = i;
  host[2048] = 0;
  const BufferRange bindings[] = {
      {words.get(), 0, 4096}, {words.get(), 4096, 4096}, {words.get(), 8192, 4}};
  const uint32_t constants[] = {1024, 3, 0};
  const Launch launch{probe_.get(), bindings, constants, 1024 / kProbeWidth};
  WaitFor(*device_->Submit({.launch = &launch}));
  for (uint32_t i = 0; i < 1024; ++i) ASSERT_EQ(host[1024 + i], i + 3);
  EXPECT_EQ(host[2048], 1024u);
}

TEST_P(DeviceTest, ManySubmissionsAreInFlightAtOnce) {
  constexpr uint32_t kSets = 8, kRounds = 5, kWords = 4096;
  std::vector<ProbeSet> sets;
  for (uint32_t s = 0; s < kSets; ++s) sets.push_back(MakeSet(kWords));
  Ticket last = 0;
  for (uint32_t round = 0; round < kRounds; ++round) {
    std::vector<Ticket> tickets;
    for (uint32_t s = 0; s < kSets; ++s) {
      for (uint32_t i = 0; i < kWords; ++i) sets[s].staged_in()[i] = s * 1000003 + i * 17 + round;
      const auto ticket = SubmitProbe(sets[s], s);
      ASSERT_TRUE(ticket.ok()) << ticket.status();
      EXPECT_GT(*ticket, last);
      last = *ticket;
      tickets.push_back(*ticket);
    }
    for (uint32_t s = kSets; s-- > 0;) WaitFor(tickets[s]);  // newest first: any order will do
    for (uint32_t s = 0; s < kSets; ++s) {
      for (uint32_t i = 0; i < kWords; ++i) {
        ASSERT_EQ(sets[s].staged_out()[i], s * 1000003 + i * 17 + round + s);
      }
      ASSERT_EQ(sets[s].staged_tally(), kWords);
    }
  }
}

TEST_P(DeviceTest, AWaitThatRunsOutLeavesTheTicketPending) {
  const ProbeSet set = MakeSet(64);
  std::memset(set.staging->host(), 0, set.staging->size());
  const Ticket ticket = *SubmitProbe(set, 0, 4'000'000);
  const auto early = device_->Wait(ticket, backends::Clock::now());
  EXPECT_EQ(early.status().code(), absl::StatusCode::kDeadlineExceeded) << early.status();
  EXPECT_EQ(recorder_.faults_in_all(), 0u) << "polling is no fault";
  WaitFor(ticket);
  EXPECT_TRUE(device_->Done(ticket));
  EXPECT_EQ(set.staged_tally(), 64u);
}

TEST_P(DeviceTest, DoneBecomesTrueWithoutAWait) {
  const ProbeSet set = MakeSet(64);
  const Ticket ticket = *SubmitProbe(set, 1);
  const auto give_up = In(seconds(120));
  while (!device_->Done(ticket) && backends::Clock::now() < give_up) {
  }
  EXPECT_TRUE(device_->Done(ticket));
  const auto times = device_->Wait(ticket, backends::Clock::now());
  EXPECT_TRUE(times.ok()) << times.status();
}

TEST_P(DeviceTest, ATicketIsWaitedForOnce) {
  const ProbeSet set = MakeSet(64);
  const Ticket ticket = *SubmitProbe(set, 1);
  WaitFor(ticket);
  EXPECT_EQ(device_->Wait(ticket, In(seconds(1))).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(device_->Wait(ticket + 1, In(seconds(1))).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_P(DeviceTest, StagesFitIntoTheWhole) {
  const ProbeSet set = MakeSet(100'000);
  for (int i = 0; i < 5; ++i) {
    const StageTimes times = WaitFor(*SubmitProbe(set, 1, 10));
    EXPECT_GT(times.submit_to_complete_ns, 0u);
    EXPECT_LE(times.kernel_ns.value_or(0), times.submit_to_complete_ns);
    EXPECT_LE(
        times.upload_ns.value_or(0) + times.kernel_ns.value_or(0) + times.readback_ns.value_or(0),
        times.submit_to_complete_ns);
    EXPECT_EQ(times.kernel_ns.has_value() || !accelerated(),
              device_->capabilities().kernel_timestamps || !accelerated());
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, DeviceTest, testing::ValuesIn(Subjects()), SubjectName);

}  // namespace
}  // namespace keysieve::test
