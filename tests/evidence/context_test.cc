// SPDX-License-Identifier: MIT
// Profiled scans: each record holds what was recorded while its scan was bound, and nothing else.
#include <gtest/gtest.h>

#include <vector>

#include "evidence/base/status.h"
#include "evidence/recorder.h"

namespace keysieve::evidence {
namespace {

DispatchRecord Launch() {
  DispatchRecord record;
  record.launched = true;
  record.submit_to_complete_ns = 100;
  record.kernel_ns = 60;
  return record;
}

JournalEntry Happened(Event event, uint32_t value) {
  return {false, static_cast<uint8_t>(event), Accelerator::kVulkan, 3, value};
}
JournalEntry Noted(Annotation annotation, uint32_t value) {
  return {true, static_cast<uint8_t>(annotation), Accelerator::kVulkan, 3, value};
}

class ContextTest : public testing::Test {
 protected:
  ContextTest() {
    ledger_ = *recorder_.RegisterDevice(
        Accelerator::kVulkan, 3, {.name = "card", .pci_vendor = 0x10de, .pci_device = 0x2335},
        {.kernel_timestamps = true, .occupancy = true, .utilization = true});
  }
  void Bind(std::vector<ContextId> contexts) { ledger_->Bind(contexts); }
  ContextId Open() { return *recorder_.OpenContext(); }
  ContextRecord Close(ContextId id) {
    auto record = recorder_.CloseContext(id);
    EXPECT_TRUE(record.ok()) << record.status();
    return *record;
  }

  Recorder recorder_{{.contexts = 4}};
  DeviceLedger* ledger_ = nullptr;
};

TEST_F(ContextTest, WithoutABoundContextNothingIsRecordedInOne) {
  const ContextId scan = Open();
  ledger_->Completed(Launch());
  ledger_->Fault(FaultKind::kTimeout);
  const ContextRecord record = Close(scan);
  EXPECT_EQ(record.id, scan);
  for (uint64_t cell : record.counters.cells) EXPECT_EQ(cell, 0u);
  EXPECT_TRUE(record.journal.empty());
}

TEST_F(ContextTest, ARecordHoldsWhatHappenedWhileItsScanWasBound) {
  const ContextId scan = Open();
  ledger_->Completed(Launch());
  Bind({scan});
  ledger_->Completed(Launch());
  ledger_->Completed(Launch());
  Bind({});
  ledger_->Completed(Launch());
  EXPECT_EQ(Close(scan).counters.Of(Counter::kDispatchCalls), 2u);
  EXPECT_EQ(ledger_->Snapshot().counters.Of(Counter::kDispatchCalls), 4u);
}

TEST_F(ContextTest, SharedWorkCountsInFullForEachScan) {
  const ContextId a = Open();
  const ContextId b = Open();
  Bind({a, b});
  ledger_->Completed(Launch());
  EXPECT_EQ(Close(a).counters.Of(Counter::kKernelTime), 60u);
  EXPECT_EQ(Close(b).counters.Of(Counter::kKernelTime), 60u);
  EXPECT_EQ(ledger_->Snapshot().counters.Of(Counter::kKernelTime), 60u);
}

TEST_F(ContextTest, IdentityAndGapsAreSaidOnceInEachContext) {
  ledger_->Completed(Launch());
  for (int i = 0; i < 2; ++i) {
    const ContextId scan = Open();
    Bind({scan});
    for (int n = 0; n < 5; ++n) ledger_->Completed(Launch());
    const ContextRecord record = Close(scan);
    const std::vector<JournalEntry> expected = {
        Happened(Event::kAdapterAcquired, 0), Noted(Annotation::kBackendKind, 3),
        Noted(Annotation::kPciVendor, 0x10de), Noted(Annotation::kPciDevice, 0x2335),
        Happened(Event::kCapabilityUnsupported, 4)};
    EXPECT_EQ(record.journal, expected);
    EXPECT_EQ(record.counters.Of(Counter::kCapabilityGaps, Index(Capability::kStallCounters)), 1u);
    EXPECT_EQ(record.counters.Sum(Counter::kEvents), 2u);
  }
  // The exported counters are the process' own: profiling adds nothing to them.
  EXPECT_EQ(ledger_->Snapshot().counters.Sum(Counter::kEvents), 2u);
}

TEST_F(ContextTest, TwoFaultsWithResidualBatchesAreTwoOfEachInOrder) {
  const ContextId scan = Open();
  Bind({scan});
  ledger_->Fault(FaultKind::kDispatch);
  ledger_->ResidualBatch();
  ledger_->Retried(1);
  ledger_->Fault(FaultKind::kDeviceLost);
  ledger_->ResidualBatch();
  ledger_->Retried(2);
  ledger_->Recovered();
  ledger_->Quarantined();
  const ContextRecord record = Close(scan);
  EXPECT_EQ(record.counters.Sum(Counter::kFaults), 2u);
  EXPECT_EQ(record.counters.Of(Counter::kFaults, Index(FaultKind::kDeviceLost)), 1u);
  EXPECT_EQ(record.counters.Of(Counter::kResidualBatches), 2u);
  EXPECT_EQ(record.counters.Of(Counter::kRetries), 2u);
  EXPECT_EQ(record.counters.Of(Counter::kRecoveries), 1u);
  const std::vector<JournalEntry> expected = {
      Happened(Event::kFault, Index(FaultKind::kDispatch)),
      Noted(Annotation::kRetryAttempt, 1),
      Happened(Event::kFault, Index(FaultKind::kDeviceLost)),
      Noted(Annotation::kRetryAttempt, 2),
      Happened(Event::kBackendRecovered, 0),
      Happened(Event::kDeviceQuarantined, 0)};
  EXPECT_EQ(record.journal, expected);
  EXPECT_EQ(record.journal_lost, 0u);
}

TEST_F(ContextTest, ARecoveryCountsForTheScansOfItsBatchWhateverIsBound) {
  const ContextId failed = Open();
  const ContextId other = Open();
  Bind({other});
  const ContextId scans[] = {failed};
  ledger_->RecoveredFor(scans);
  EXPECT_EQ(ledger_->Snapshot().counters.Of(Counter::kRecoveries), 1u);
  const ContextRecord record = Close(failed);
  EXPECT_EQ(record.counters.Of(Counter::kRecoveries), 1u);
  EXPECT_EQ(record.journal, std::vector{Happened(Event::kBackendRecovered, 0)});
  EXPECT_EQ(Close(other).counters.Of(Counter::kRecoveries), 0u);
}

TEST_F(ContextTest, AFullJournalCountsWhatItLost) {
  const ContextId scan = Open();
  Bind({scan});
  for (std::size_t i = 0; i < kJournalEntries + 7; ++i) ledger_->Fault(FaultKind::kTimeout);
  const ContextRecord record = Close(scan);
  EXPECT_EQ(record.journal.size(), kJournalEntries);
  EXPECT_EQ(record.journal_lost, 7u);
  EXPECT_EQ(record.counters.Sum(Counter::kFaults), kJournalEntries + 7);
}

TEST_F(ContextTest, AClosedContextTakesNothingAndItsPlaceStartsEmpty) {
  const ContextId first = Open();
  Bind({first});
  ledger_->Fault(FaultKind::kTimeout);
  Close(first);
  ledger_->Fault(FaultKind::kTimeout);  // still bound, no longer open
  std::vector<ContextId> rest;
  for (int i = 0; i < 4; ++i) rest.push_back(Open());
  ledger_->Fault(FaultKind::kTimeout);
  for (ContextId id : rest) {
    EXPECT_NE(id, first);
    const ContextRecord record = Close(id);
    EXPECT_EQ(record.counters.Sum(Counter::kFaults), 0u);
    EXPECT_TRUE(record.journal.empty());
  }
  EXPECT_EQ(ledger_->Snapshot().counters.Sum(Counter::kFaults), 3u);
}

TEST_F(ContextTest, ClosingWhatIsNotOpenIsNotFound) {
  const ContextId scan = Open();
  Close(scan);
  EXPECT_EQ(recorder_.CloseContext(scan).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(recorder_.CloseContext(ContextId::kProcess).status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(recorder_.CloseContext(static_cast<ContextId>(~uint64_t{0})).status().code(),
            absl::StatusCode::kNotFound);
}

TEST_F(ContextTest, MoreContextsThanPlacesIsAnErrorThatSaysHowMany) {
  std::vector<ContextId> open;
  for (int i = 0; i < 4; ++i) open.push_back(Open());
  const auto fifth = recorder_.OpenContext();
  EXPECT_EQ(fifth.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_NE(Message(fifth.status()).find("all 4"), std::string::npos);
  Close(open[2]);
  EXPECT_TRUE(recorder_.OpenContext().ok());
}

TEST_F(ContextTest, BindingMoreThanCanBeOpenIsAnAccountingError) {
  Bind(std::vector<ContextId>(5, ContextId::kProcess));
  Bind({});
  EXPECT_EQ(ledger_->Snapshot().counters.Of(Counter::kAccountingErrors), 1u);
}

TEST_F(ContextTest, AHundredThousandScansOneAfterAnotherAllGetTheirIdentity) {
  for (int i = 0; i < 100'000; ++i) {
    const ContextId scan = Open();
    ledger_->Bind({&scan, 1});
    ledger_->Completed(Launch());
    const ContextRecord record = Close(scan);
    ASSERT_EQ(record.counters.Of(Counter::kEvents, Index(Event::kAdapterAcquired)), 1u) << i;
    ASSERT_EQ(record.counters.Sum(Counter::kCapabilityGaps), 1u) << i;
  }
  EXPECT_EQ(recorder_.once_losses(), 0u);
}

}  // namespace
}  // namespace keysieve::evidence
