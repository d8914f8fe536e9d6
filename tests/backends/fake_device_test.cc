// SPDX-License-Identifier: MIT
// The fake device keeps to its script, so that tests may lean on it.
#include "tests/support/fake_device.h"

#include <gtest/gtest.h>

#include "tests/backends/images/probe_kernel.h"
#include "tests/support/counting_recorder.h"

namespace keysieve::test {
namespace {

using backends::BufferRange;
using backends::Copy;
using backends::Launch;
using backends::MemoryKind;
using backends::Ticket;
using evidence::FaultKind;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

// A fake with one probe set of 64 words.
class Rig {
 public:
  explicit Rig(FakeOptions options) : device(std::move(options), &recorder) {
    probe = *device.Load(ProbeImage(backends::BackendKind::kCpu));
    host = *device.Allocate(MemoryKind::kPinned, 512);
    words = *device.Allocate(MemoryKind::kDevice, 1024);
    for (uint32_t i = 0; i < 64; ++i) in()[i] = i;
  }
  uint32_t* in() { return reinterpret_cast<uint32_t*>(host->host()); }
  uint32_t* out() { return in() + 64; }
  absl::StatusOr<Ticket> Submit(uint32_t addend) {
    const Copy uploads[] = {{{host.get(), 0, 256}, {words.get(), 0, 256}}};
    const BufferRange bindings[] = {
        {words.get(), 0, 256}, {words.get(), 256, 256}, {words.get(), 512, 4}};
    const uint32_t constants[] = {64, addend, 0};
    const Launch launch{probe.get(), bindings, constants, 1};
    const Copy readbacks[] = {{{words.get(), 256, 256}, {host.get(), 256, 256}}};
    return device.Submit({.uploads = uploads, .launch = &launch, .readbacks = readbacks});
  }
  absl::StatusCode Wait(Ticket ticket) {
    return device.Wait(ticket, device.now() + seconds(10)).status().code();
  }

  CountingRecorder recorder;
  FakeDevice device;
  std::unique_ptr<backends::Program> probe;
  std::unique_ptr<backends::Buffer> host;
  std::unique_ptr<backends::Buffer> words;
};

TEST(FakeDevice, RunsHostKernelsAndDeliversAtTheWait) {
  Rig rig({});
  const Ticket ticket = *rig.Submit(100);
  rig.out()[3] = 1;
  EXPECT_EQ(rig.out()[3], 1u) << "nothing is delivered before the wait";
  EXPECT_EQ(rig.Wait(ticket), absl::StatusCode::kOk);
  for (uint32_t i = 0; i < 64; ++i) EXPECT_EQ(rig.out()[i], i + 100);
  ASSERT_EQ(rig.recorder.completed.size(), 1u);
  EXPECT_EQ(rig.recorder.completed[0].submit_to_complete_ns, 1000u + 2000 + 10000 + 2000);
}

TEST(FakeDevice, PollingEndsAndDeliversToo) {
  Rig rig({});
  const Ticket ticket = *rig.Submit(5);
  int polls = 0;
  while (!rig.device.Done(ticket)) ++polls;
  EXPECT_GT(polls, 0);
  EXPECT_EQ(rig.out()[63], 68u);
  EXPECT_EQ(rig.Wait(ticket), absl::StatusCode::kOk);
}

TEST(FakeDevice, RefusesTheNthSubmission) {
  Rig rig({.script = {.refuse_submits = {2}}});
  EXPECT_TRUE(rig.Submit(0).ok());
  EXPECT_EQ(rig.Submit(0).status().code(), absl::StatusCode::kInternal);
  EXPECT_EQ(*rig.Submit(0), 2u);
  EXPECT_EQ(rig.recorder.faults_of(FaultKind::kDispatch), 1u);
  EXPECT_EQ(rig.recorder.submitted, 2u);
}

TEST(FakeDevice, AFailedTicketDeliversNothingAndTheNextWorks) {
  Rig rig({.script = {.fail_tickets = {1}}});
  rig.out()[0] = 77;
  EXPECT_EQ(rig.Wait(*rig.Submit(1)), absl::StatusCode::kInternal);
  EXPECT_EQ(rig.out()[0], 77u);
  EXPECT_EQ(rig.Wait(*rig.Submit(1)), absl::StatusCode::kOk);
  EXPECT_EQ(rig.out()[0], 1u);
  EXPECT_EQ(rig.recorder.completed.size(), 1u);
}

TEST(FakeDevice, AHangMovesTheClockToTheDeadlineAndNoFurther) {
  Rig rig({.script = {.hang_ticket = 1}});
  const Ticket ticket = *rig.Submit(1);
  const auto deadline = rig.device.now() + hours(1);
  EXPECT_EQ(rig.device.Wait(ticket, deadline).status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(rig.device.now(), deadline);
  EXPECT_FALSE(rig.device.Done(ticket));
  EXPECT_EQ(rig.recorder.faults_in_all(), 0u);
  rig.device.Abandon();
  EXPECT_EQ(rig.recorder.faults_of(FaultKind::kTimeout), 1u);
  EXPECT_EQ(rig.Wait(ticket), absl::StatusCode::kDataLoss);
  EXPECT_EQ(rig.device.calls_after_abandon(), 1u);
}

TEST(FakeDevice, ALossEndsEverythingOnce) {
  Rig rig({.script = {.lose_ticket = 2}});
  const Ticket first = *rig.Submit(1);
  const Ticket second = *rig.Submit(2);
  EXPECT_EQ(rig.Wait(first), absl::StatusCode::kOk);
  EXPECT_EQ(rig.Wait(second), absl::StatusCode::kDataLoss);
  EXPECT_EQ(rig.Submit(3).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(rig.device.health(), backends::Health::kLost);
  rig.device.Abandon();
  EXPECT_EQ(rig.recorder.faults_in_all(), 1u);
  EXPECT_EQ(rig.recorder.faults_of(FaultKind::kDeviceLost), 1u);
}

TEST(FakeDevice, CorruptsOneByteOfOneReadback) {
  Rig rig({.script = {.corrupt = {{2, {.offset = 4, .mask = 0x80}}}}});
  EXPECT_EQ(rig.Wait(*rig.Submit(0)), absl::StatusCode::kOk);
  EXPECT_EQ(rig.out()[1], 1u);
  EXPECT_EQ(rig.Wait(*rig.Submit(0)), absl::StatusCode::kOk);
  EXPECT_EQ(rig.out()[1], 0x81u);
  EXPECT_EQ(rig.out()[2], 2u);
}

TEST(FakeDevice, RefusesTheNthAllocationAndCountsTheLiving) {
  FakeDevice device({.script = {.refuse_allocations = {2}}});
  auto first = device.Allocate(MemoryKind::kDevice, 100);
  EXPECT_EQ(device.Allocate(MemoryKind::kDevice, 100).status().code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(device.live_buffers(), 1u);
  EXPECT_EQ(device.live_bytes(), 100u);
  first->reset();
  EXPECT_EQ(device.live_buffers(), 0u);
}

TEST(FakeDevice, SlowTicketsTakeTheirTime) {
  Rig rig({.script = {.slow = {{1, milliseconds(500)}}}});
  const Ticket ticket = *rig.Submit(0);
  EXPECT_EQ(rig.device.Wait(ticket, rig.device.now() + milliseconds(499)).status().code(),
            absl::StatusCode::kDeadlineExceeded);
  const auto times = rig.device.Wait(ticket, rig.device.now() + milliseconds(10));
  ASSERT_TRUE(times.ok());
  EXPECT_EQ(*times->kernel_ns, 500'010'000u);
}

TEST(FakeDevice, RunLateSeesWhatTheHostChangedTooEarly) {
  Rig rig({.run_late = true});
  const Ticket ticket = *rig.Submit(0);
  rig.in()[7] = 4444;
  EXPECT_EQ(rig.Wait(ticket), absl::StatusCode::kOk);
  EXPECT_EQ(rig.out()[7], 4444u);
}

}  // namespace
}  // namespace keysieve::test
