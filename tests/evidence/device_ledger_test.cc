// SPDX-License-Identifier: MIT
// The books of one device: sums that hold, reports that are refused, what is said once.
#include "evidence/device_ledger.h"

#include <gtest/gtest.h>

#include <cmath>

#include "evidence/recorder.h"

namespace keysieve::evidence {
namespace {

constexpr CapabilityFlags kAll{true, true, true, true};
constexpr CapabilityFlags kOnlyTimestamps{.kernel_timestamps = true};

class DeviceLedgerTest : public testing::Test {
 protected:
  DeviceLedger* Register(Accelerator accelerator, int index, CapabilityFlags flags) {
    auto ledger = recorder_.RegisterDevice(accelerator, index, {.name = "card"}, flags);
    EXPECT_TRUE(ledger.ok());
    return *ledger;
  }
  static DispatchRecord Launch(uint64_t submit_to_complete_ns, std::optional<uint64_t> kernel_ns) {
    DispatchRecord record;
    record.launched = true;
    record.submit_to_complete_ns = submit_to_complete_ns;
    record.kernel_ns = kernel_ns;
    return record;
  }
  static CounterValues Counters(const DeviceLedger* ledger) { return ledger->Snapshot().counters; }

  Recorder recorder_{Recorder::Options{}};
};

TEST_F(DeviceLedgerTest, AllocatesFifteenHundredAndFreesFourHundred) {
  DeviceLedger* ledger = Register(Accelerator::kCuda, 0, kAll);
  ledger->Allocated(1000);
  ledger->Allocated(500);
  ledger->Freed(400);
  const DeviceSnapshot s = ledger->Snapshot();
  EXPECT_EQ(s.counters.Of(Counter::kAllocationCalls), 2u);
  EXPECT_EQ(s.counters.Of(Counter::kAllocatedBytes), 1500u);
  EXPECT_EQ(s.counters.Of(Counter::kFreedBytes), 400u);
  EXPECT_EQ(s.resident_bytes, 1100u);
  EXPECT_EQ(s.peak_resident_bytes, 1500u);
}

TEST_F(DeviceLedgerTest, ThePeakIsTheDevicesOwnAndNeverFalls) {
  DeviceLedger* a = Register(Accelerator::kCuda, 0, kAll);
  DeviceLedger* b = Register(Accelerator::kCuda, 1, kAll);
  a->Allocated(100);
  b->Allocated(900);
  a->Freed(100);
  a->Allocated(50);
  EXPECT_EQ(a->Snapshot().peak_resident_bytes, 100u);
  EXPECT_EQ(b->Snapshot().peak_resident_bytes, 900u);
  a->Allocated(75);
  EXPECT_EQ(a->Snapshot().peak_resident_bytes, 125u);
}

TEST_F(DeviceLedgerTest, FreeingMoreThanIsResidentIsCountedAndChangesNothingElse) {
  DeviceLedger* ledger = Register(Accelerator::kCuda, 0, kAll);
  ledger->Allocated(100);
  ledger->Freed(101);
  DeviceSnapshot s = ledger->Snapshot();
  EXPECT_EQ(s.counters.Of(Counter::kAccountingErrors), 1u);
  EXPECT_EQ(s.counters.Of(Counter::kFreedBytes), 0u);
  EXPECT_EQ(s.resident_bytes, 100u);
  ledger->Freed(100);
  s = ledger->Snapshot();
  EXPECT_EQ(s.counters.Of(Counter::kAccountingErrors), 1u);
  EXPECT_EQ(s.counters.Of(Counter::kFreedBytes), 100u);
  EXPECT_EQ(s.resident_bytes, 0u);
}

TEST_F(DeviceLedgerTest, KernelAndQueueWaitAddUpToSubmitToComplete) {
  DeviceLedger* ledger = Register(Accelerator::kCuda, 0, kAll);
  for (uint64_t i = 0; i < 100; ++i) ledger->Completed(Launch(1000 + 37 * i, 11 * i));
  const CounterValues c = Counters(ledger);
  EXPECT_EQ(c.Of(Counter::kKernelTime) + c.Of(Counter::kQueueWaitTime),
            c.Of(Counter::kSubmitToCompleteTime));
  EXPECT_EQ(c.Of(Counter::kKernelTime), 11u * 4950);
}

TEST_F(DeviceLedgerTest, WithoutAKernelTimeThereIsNoQueueWait) {
  DeviceLedger* ledger = Register(Accelerator::kVulkan, 0, kAll);
  ledger->Completed(Launch(5000, std::nullopt));
  const DeviceSnapshot s = ledger->Snapshot();
  EXPECT_EQ(s.counters.Of(Counter::kSubmitToCompleteTime), 5000u);
  EXPECT_EQ(s.counters.Of(Counter::kQueueWaitTime), 0u);
  EXPECT_EQ(s.distributions[Index(Distribution::kQueueWait)].sum_ns, 0u);
  EXPECT_EQ(s.distributions[Index(Distribution::kQueueWait)].counts[0], 0u);
  EXPECT_EQ(s.counters.Of(Counter::kAccountingErrors), 0u);
}

TEST_F(DeviceLedgerTest, AKernelLongerThanItsSubmissionIsRefusedAndTheRestKept) {
  DeviceLedger* ledger = Register(Accelerator::kCuda, 0, kAll);
  DispatchRecord record = Launch(5000, 5001);
  record.uploads.bytes[0] = 7;
  ledger->Completed(record);
  const CounterValues c = Counters(ledger);
  EXPECT_EQ(c.Of(Counter::kAccountingErrors), 1u);
  EXPECT_EQ(c.Of(Counter::kKernelTime), 0u);
  EXPECT_EQ(c.Of(Counter::kQueueWaitTime), 0u);
  EXPECT_EQ(c.Of(Counter::kDispatchCalls), 1u);
  EXPECT_EQ(c.Of(Counter::kUploadBytes, Index(Traffic::kText)), 7u);
}

TEST_F(DeviceLedgerTest, CopiesAloneAreNoDispatchAndAnnounceNothing) {
  DeviceLedger* ledger = Register(Accelerator::kCuda, 0, {});
  ledger->Submitted();
  DispatchRecord record;
  record.uploads.bytes[Index(Traffic::kTable)] = 4096;
  record.upload_ns = 900;
  record.submit_to_complete_ns = 1000;
  ledger->Completed(record);
  const DeviceSnapshot s = ledger->Snapshot();
  EXPECT_EQ(s.counters.Of(Counter::kUploadBytes, Index(Traffic::kTable)), 4096u);
  EXPECT_EQ(s.counters.Of(Counter::kUploadTime), 900u);
  EXPECT_EQ(s.counters.Of(Counter::kDispatchCalls), 0u);
  EXPECT_EQ(s.counters.Of(Counter::kSubmitToCompleteTime), 0u);
  EXPECT_EQ(s.counters.Sum(Counter::kEvents), 0u);
  EXPECT_FALSE(s.completed);
}

TEST_F(DeviceLedgerTest, ZeroCopyInputHasBytesAndNoUploadTime) {
  DeviceLedger* ledger = Register(Accelerator::kCuda, 0, kAll);
  DispatchRecord record = Launch(100, 50);
  record.uploads.bytes[Index(Traffic::kText)] = 1 << 20;
  ledger->Completed(record);
  const DeviceSnapshot s = ledger->Snapshot();
  EXPECT_EQ(s.counters.Of(Counter::kUploadBytes, Index(Traffic::kText)), 1u << 20);
  EXPECT_EQ(s.counters.Of(Counter::kUploadTime), 0u);
  for (uint64_t n : s.distributions[Index(Distribution::kUpload)].counts) EXPECT_EQ(n, 0u);
}

TEST_F(DeviceLedgerTest, IdentityAndThreeGapsAreSaidOnceHoweverOftenItRuns) {
  DeviceLedger* ledger = Register(Accelerator::kVulkan, 0, kOnlyTimestamps);
  for (int i = 0; i < 1000; ++i) ledger->Completed(Launch(100, 50));
  const CounterValues c = Counters(ledger);
  EXPECT_EQ(c.Of(Counter::kEvents, Index(Event::kAdapterAcquired)), 1u);
  EXPECT_EQ(c.Of(Counter::kEvents, Index(Event::kCapabilityUnsupported)), 3u);
  EXPECT_EQ(c.Of(Counter::kCapabilityGaps, Index(Capability::kKernelTimestamps)), 0u);
  EXPECT_EQ(c.Of(Counter::kCapabilityGaps, Index(Capability::kOccupancy)), 1u);
  EXPECT_EQ(c.Of(Counter::kCapabilityGaps, Index(Capability::kUtilization)), 1u);
  EXPECT_EQ(c.Of(Counter::kCapabilityGaps, Index(Capability::kStallCounters)), 1u);
  EXPECT_EQ(recorder_.once_losses(), 0u);
}

TEST_F(DeviceLedgerTest, GapsOfEveryBackendAndDeviceAreKept) {
  for (Accelerator accelerator : {Accelerator::kCuda, Accelerator::kVulkan}) {
    for (int index : {0, 1}) {
      Register(accelerator, index, kOnlyTimestamps)->Completed(Launch(100, 50));
    }
  }
  const auto snapshots = recorder_.Snapshot();
  ASSERT_EQ(snapshots.size(), 4u);
  for (const DeviceSnapshot& s : snapshots) {
    EXPECT_EQ(s.counters.Of(Counter::kEvents, Index(Event::kAdapterAcquired)), 1u);
    EXPECT_EQ(s.counters.Sum(Counter::kCapabilityGaps), 3u);
  }
}

TEST_F(DeviceLedgerTest, WhatDoesNotFitTheOnceSetIsCountedOncePerEntry) {
  Recorder small({.contexts = 1, .devices = 2, .once_capacity = 4});
  DeviceLedger* a = *small.RegisterDevice(Accelerator::kCuda, 0, {}, {});  // identity and 4 gaps
  DeviceLedger* b = *small.RegisterDevice(Accelerator::kVulkan, 0, {}, kAll);  // identity
  for (int i = 0; i < 3; ++i) {
    a->Completed(Launch(100, 50));
    b->Completed(Launch(100, 50));
  }
  EXPECT_EQ(Counters(a).Of(Counter::kOnceLosses), 1u);
  EXPECT_EQ(Counters(a).Sum(Counter::kCapabilityGaps), 3u);
  EXPECT_EQ(Counters(b).Of(Counter::kOnceLosses), 1u);
  EXPECT_EQ(Counters(b).Of(Counter::kEvents, Index(Event::kAdapterAcquired)), 0u);
  EXPECT_EQ(small.once_losses(), 2u);
}

TEST_F(DeviceLedgerTest, AFaultOfNoKnownKindIsAnAccountingError) {
  DeviceLedger* ledger = Register(Accelerator::kCuda, 0, kAll);
  ledger->Fault(static_cast<FaultKind>(kFaultKinds));
  EXPECT_EQ(Counters(ledger).Sum(Counter::kFaults), 0u);
  EXPECT_EQ(Counters(ledger).Sum(Counter::kEvents), 0u);
  EXPECT_EQ(Counters(ledger).Of(Counter::kAccountingErrors), 1u);
}

TEST_F(DeviceLedgerTest, AnOverflowReplayIsNoFault) {
  DeviceLedger* ledger = Register(Accelerator::kCuda, 0, kAll);
  ledger->OverflowReplayed();
  EXPECT_EQ(Counters(ledger).Of(Counter::kOverflowReplays), 1u);
  EXPECT_EQ(Counters(ledger).Sum(Counter::kFaults), 0u);
  EXPECT_EQ(Counters(ledger).Sum(Counter::kEvents), 0u);
}

TEST_F(DeviceLedgerTest, AReadingThatIsAbsentNowIsWithdrawn) {
  DeviceLedger* ledger = Register(Accelerator::kCuda, 0, kAll);
  EXPECT_FALSE(ledger->Snapshot().utilization_ratio.has_value());
  ledger->Observed(0.75, 0.5);
  EXPECT_EQ(ledger->Snapshot().utilization_ratio, 0.75);
  EXPECT_EQ(ledger->Snapshot().occupancy_ratio, 0.5);
  ledger->Observed(0.0, std::nullopt);
  EXPECT_EQ(ledger->Snapshot().utilization_ratio, 0.0);
  EXPECT_FALSE(ledger->Snapshot().occupancy_ratio.has_value());
}

TEST_F(DeviceLedgerTest, ARatioThatIsNoNumberIsRefused) {
  DeviceLedger* ledger = Register(Accelerator::kCuda, 0, kAll);
  ledger->Observed(std::nan(""), INFINITY);
  EXPECT_FALSE(ledger->Snapshot().utilization_ratio.has_value());
  EXPECT_FALSE(ledger->Snapshot().occupancy_ratio.has_value());
  EXPECT_EQ(Counters(ledger).Of(Counter::kAccountingErrors), 2u);
}

}  // namespace
}  // namespace keysieve::evidence
