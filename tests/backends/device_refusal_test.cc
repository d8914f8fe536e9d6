// SPDX-License-Identifier: MIT
// What every device refuses, what it then still can do, and what it reports of itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "backends/registry.h"
#include "tests/backends/device_fixture.h"
#include "tests/support/leak_pause.h"

namespace keysieve::test {
namespace {

using backends::Buffer;
using backends::BufferRange;
using backends::Copy;
using backends::Fill;
using backends::Launch;
using backends::MemoryKind;
using evidence::FaultKind;
using evidence::Traffic;
using testing::HasSubstr;

class DeviceRefusalTest : public DeviceTest {
 protected:
  void ExpectRefused(const backends::Submission& submission, const char* why) {
    const auto ticket = device_->Submit(submission);
    ASSERT_FALSE(ticket.ok()) << "not refused: " << why;
    EXPECT_EQ(ticket.status().code(), absl::StatusCode::kInvalidArgument) << ticket.status();
    EXPECT_THAT(std::string(ticket.status().message()), HasSubstr(why));
  }
  void ExpectStillWorks() {
    const ProbeSet set = MakeSet(128);
    for (uint32_t i = 0; i < set.count; ++i) set.staged_in()[i] = i;
    WaitFor(*SubmitProbe(set, 9));
    for (uint32_t i = 0; i < set.count; ++i) ASSERT_EQ(set.staged_out()[i], i + 9);
  }
};

TEST_P(DeviceRefusalTest, CopiesOutsideTheirBuffers) {
  const auto a = Get(MemoryKind::kPinned, 100);
  const auto b = Get(MemoryKind::kDevice, 100);
  const Copy past_end[] = {{{a.get(), 50, 51}, {b.get(), 0, 51}}};
  ExpectRefused({.uploads = past_end}, "51 bytes at 50 leaves its buffer of 100");
  const Copy past_target[] = {{{a.get(), 0, 51}, {b.get(), 50, 51}}};
  ExpectRefused({.uploads = past_target}, "upload target");
  const Copy wraps[] = {{{b.get(), ~0ull, 2}, {a.get(), 0, 2}}};
  ExpectRefused({.readbacks = wraps}, "readback source");
  const Copy unequal[] = {{{a.get(), 0, 8}, {b.get(), 0, 9}}};
  ExpectRefused({.uploads = unequal}, "8 bytes to a range of 9");
  const Copy overlapping[] = {{{b.get(), 0, 20}, {b.get(), 10, 20}}};
  ExpectRefused({.uploads = overlapping}, "overlap");
  const Copy nowhere[] = {{{nullptr, 0, 8}, {b.get(), 0, 8}}};
  ExpectRefused({.uploads = nowhere}, "names no buffer");
  ExpectStillWorks();
}

TEST_P(DeviceRefusalTest, FillsOfHalfWords) {
  const auto b = Get(MemoryKind::kDevice, 100);
  const Fill odd_offset[] = {{{b.get(), 2, 8}, 0}};
  ExpectRefused({.fills = odd_offset}, "whole 4-byte words");
  const Fill odd_size[] = {{{b.get(), 4, 7}, 0}};
  ExpectRefused({.fills = odd_size}, "whole 4-byte words");
  const Fill outside[] = {{{b.get(), 96, 8}, 0}};
  ExpectRefused({.fills = outside}, "leaves its buffer");
}

TEST_P(DeviceRefusalTest, LaunchesOfTheWrongShape) {
  const auto b = Get(MemoryKind::kDevice, 65536);
  const BufferRange good[] = {{b.get(), 0, 4096}, {b.get(), 8192, 4096}, {b.get(), 16384, 4}};
  const uint32_t constants[] = {64, 0, 0, 0};
  const auto launch = [&](auto bindings, size_t words, uint32_t workgroups) {
    return Launch{probe_.get(), bindings, std::span(constants).first(words), workgroups};
  };
  const Launch few_bindings = launch(std::span(good).first(2), 3, 1);
  ExpectRefused({.launch = &few_bindings}, "2 bindings; the program takes 3");
  const Launch many_constants = launch(std::span(good), 4, 1);
  ExpectRefused({.launch = &many_constants}, "4 constant words; the program takes 3");
  const Launch nothing = launch(std::span(good), 3, 0);
  ExpectRefused({.launch = &nothing}, "0 workgroups");
  const Launch too_many = launch(std::span(good), 3, device_->limits().max_workgroups + 1);
  ExpectRefused({.launch = &too_many}, "workgroups; the device takes");
  const Launch no_program{nullptr, good, std::span(constants).first(3), 1};
  ExpectRefused({.launch = &no_program}, "no program");
  const BufferRange crooked[] = {{b.get(), 1, 4096}, {b.get(), 8192, 4096}, {b.get(), 16384, 4}};
  const Launch misaligned = launch(std::span(crooked), 3, 1);
  ExpectRefused({.launch = &misaligned}, "no multiple of");
  const BufferRange hollow[] = {{b.get(), 0, 0}, {b.get(), 8192, 4096}, {b.get(), 16384, 4}};
  const Launch empty = launch(std::span(hollow), 3, 1);
  ExpectRefused({.launch = &empty}, "binding 0 is empty");
  ExpectStillWorks();
}

TEST_P(DeviceRefusalTest, BuffersOfAnotherDevice) {
  const auto other = backends::OpenDevice(*GetParam().identity, {});
  ASSERT_TRUE(other.ok()) << other.status();
  const auto foreign = (*other)->Allocate(MemoryKind::kDevice, 64);
  ASSERT_TRUE(foreign.ok()) << foreign.status();
  const auto own = Get(MemoryKind::kPinned, 64);
  const Copy copy[] = {{{own.get(), 0, 64}, {foreign->get(), 0, 64}}};
  ExpectRefused({.uploads = copy}, "another device's buffer");
}

TEST_P(DeviceRefusalTest, BuffersAndImagesItCannotTake) {
  EXPECT_EQ(device_->Allocate(MemoryKind::kDevice, 0).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(device_->Allocate(MemoryKind::kDevice, ~0ull).status().code(),
            absl::StatusCode::kInvalidArgument);
  backends::Image image = ProbeImage(GetParam().backend);
  image.workgroup_size = device_->limits().max_workgroup_size + 1;
  EXPECT_EQ(device_->Load(image).status().code(), absl::StatusCode::kInvalidArgument);
  image = ProbeImage(GetParam().backend);
  image.backend = backends::BackendKind::kMetal;
  EXPECT_EQ(device_->Load(image).status().code(), absl::StatusCode::kInvalidArgument);
  image = ProbeImage(GetParam().backend);
  image.code = {};
  image.host = nullptr;
  EXPECT_EQ(device_->Load(image).status().code(), absl::StatusCode::kInvalidArgument);
  const std::vector<std::byte> garbage(64, std::byte{0x5A});
  image.code = garbage;
  EXPECT_EQ(device_->Load(image).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(recorder_.faults_in_all(), 0u) << "a refusal is no fault";
  ExpectStillWorks();
}

TEST_P(DeviceRefusalTest, MemoryItDoesNotHaveAndWorksOn) {
  // Nothing is written, so the host commits no pages for it.
  const uint64_t piece = device_->limits().max_buffer_bytes;
  const uint64_t memory = device_->limits().memory_bytes;
  ASSERT_GT(memory, 0u);
  std::vector<std::unique_ptr<Buffer>> held;
  absl::Status refused;
  while (refused.ok() && held.size() <= memory / piece + 1) {
    auto buffer = device_->Allocate(MemoryKind::kDevice, piece);
    refused = buffer.status();
    if (buffer.ok()) held.push_back(*std::move(buffer));
  }
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted) << refused;
  EXPECT_EQ(recorder_.faults_of(FaultKind::kOutOfMemory), accelerated() ? 1u : 0u);
  held.clear();
  ExpectStillWorks();
}

TEST_P(DeviceRefusalTest, EverythingOnceItIsAbandoned) {
  const LeakPause left_behind_on_purpose;
  CountingRecorder recorder;
  auto device = *backends::OpenDevice(*GetParam().identity, {.recorder = &recorder});
  auto program = *device->Load(ProbeImage(GetParam().backend));
  auto buffer = *device->Allocate(MemoryKind::kPinned, 64);
  device->Abandon();
  EXPECT_EQ(device->health(), backends::Health::kLost);
  EXPECT_EQ(device->Allocate(MemoryKind::kDevice, 64).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(device->Submit({}).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(device->Load(ProbeImage(GetParam().backend)).status().code(),
            absl::StatusCode::kDataLoss);
  EXPECT_EQ(recorder.faults_in_all(), 0u) << "nothing was in flight";
  buffer.reset();
  program.reset();
  device.reset();
  EXPECT_EQ(recorder.frees, 0u) << "what is left be is not freed";
}

TEST_P(DeviceRefusalTest, ResidentKernelsItDoesNotHave) {
  if (device_->limits().resident_kernels) GTEST_SKIP() << "this device has resident kernels";
  EXPECT_EQ(device_->StartResident({}).status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(device_->CopyThenWriteWord({}, {}, 0).status().code(),
            absl::StatusCode::kUnimplemented);
}

TEST_P(DeviceRefusalTest, TheRecorderHearsWhatWasSent) {
  if (!accelerated()) {
    const ProbeSet set = MakeSet(512);
    WaitFor(*SubmitProbe(set, 1));
    EXPECT_TRUE(recorder_.untouched()) << "the CPU is no accelerator";
    return;
  }
  EXPECT_EQ(recorder_.submitted, 0u);
  EXPECT_EQ(recorder_.compiled, 1u);
  {
    const ProbeSet set = MakeSet(512);
    EXPECT_EQ(recorder_.allocations, 4u);
    EXPECT_GE(recorder_.allocated_bytes, 3 * 2048u + 2048 + 8);
    WaitFor(*SubmitProbe(set, 1));
    WaitFor(*SubmitProbe(set, 1));
    const Copy table[] = {{{set.staging.get(), 0, 100}, {set.in.get(), 0, 100}, Traffic::kTable}};
    WaitFor(*device_->Submit({.uploads = table}));
  }
  EXPECT_EQ(recorder_.submitted, 3u);
  ASSERT_EQ(recorder_.completed.size(), 3u);
  EXPECT_TRUE(recorder_.completed[0].launched);
  EXPECT_FALSE(recorder_.completed[2].launched);
  EXPECT_EQ(recorder_.uploaded(Traffic::kText), 2 * 2048u);
  EXPECT_EQ(recorder_.uploaded(Traffic::kTable), 100u);
  EXPECT_EQ(recorder_.uploaded(Traffic::kHits), 0u);
  EXPECT_EQ(recorder_.read_back(Traffic::kHits), 2 * 2048u);
  EXPECT_EQ(recorder_.read_back(Traffic::kControl), 2 * 4u);
  EXPECT_EQ(recorder_.frees, recorder_.allocations);
  EXPECT_EQ(recorder_.freed_bytes, recorder_.allocated_bytes);
  EXPECT_EQ(recorder_.faults_in_all(), 0u);
}

INSTANTIATE_TEST_SUITE_P(Devices, DeviceRefusalTest, testing::ValuesIn(Subjects()), SubjectName);

}  // namespace
}  // namespace keysieve::test
