// SPDX-License-Identifier: MIT
// What whole scans leave in the books: a lane drives a session on the fake device, whose virtual
// stages take known times, and every number is compared with what was caused.
#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <string>
#include <vector>

#include "daemon/scheduler/lane.h"
#include "evidence/base/status.h"
#include "evidence/recorder.h"
#include "megakernel/table.h"
#include "tests/support/fake_device.h"

namespace keysieve::evidence {
namespace {

using scheduler::MatchJob;
using scheduler::MatchOutcome;

constexpr uint64_t kUploadNs = 2000;
constexpr uint64_t kKernelNs = 10000;
constexpr uint64_t kReadbackNs = 3000;

class ScanBooks : public testing::Test {
 protected:
  ScanBooks() {
    ledger_ = *recorder_.RegisterDevice(Accelerator::kVulkan, 0, {.name = "fake device"},
                                        {.kernel_timestamps = true});
    table_ = std::make_shared<megakernel::Table>(
        *megakernel::CompileTable(std::vector<megakernel::Literal>{{"needle", false}}));
    scheduler::LaneOptions options;
    options.identity.backend = backends::BackendKind::kVulkan;
    options.recorder = ledger_;
    lane_ = std::make_unique<scheduler::Lane>(
        options, [this] { return Open(); }, nullptr);
    const absl::Status opened = lane_->Start();
    EXPECT_TRUE(opened.ok()) << opened;
  }

  absl::StatusOr<scheduler::LaneParts> Open() {
    test::FakeOptions fake;
    fake.upload = std::chrono::nanoseconds(kUploadNs);
    fake.kernel = std::chrono::nanoseconds(kKernelNs);
    fake.readback = std::chrono::nanoseconds(kReadbackNs);
    scheduler::LaneParts parts;
    parts.device = std::make_unique<test::FakeDevice>(fake, ledger_);
    megakernel::SessionOptions session;
    session.geometry = {
        .slots = 64, .workgroup = 64, .tenants = 8, .batches = 2, .batch_bytes = 1 << 20};
    session.recorder = ledger_;
    KS_ASSIGN_OR_RETURN(parts.session, megakernel::Session::Open(*parts.device, session));
    return parts;
  }

  MatchOutcome Match(const std::string& text, ContextId profile, uint64_t request = 1) {
    std::promise<MatchOutcome> promise;
    MatchJob job;
    job.bytes = {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
    job.table = table_;
    job.request = request;
    job.profile = profile;
    job.done = [&promise](MatchOutcome outcome) { promise.set_value(std::move(outcome)); };
    lane_->Submit(std::move(job));
    return promise.get_future().get();
  }

  CounterValues Counters() const { return ledger_->Snapshot().counters; }

  Recorder recorder_{{.contexts = 8}};
  DeviceLedger* ledger_ = nullptr;
  std::shared_ptr<const megakernel::Table> table_;
  std::unique_ptr<scheduler::Lane> lane_;
};

const std::string kText = std::string(5000, '.') + "needle" + std::string(3000, '.');

TEST_F(ScanBooks, EveryStageIsCountedByExactlyWhatItTook) {
  EXPECT_TRUE(Match(kText, ContextId::kProcess).status.ok());  // the table is loaded with it
  const CounterValues before = Counters();
  constexpr uint64_t kScans = 7;
  for (uint64_t i = 0; i < kScans; ++i) {
    const MatchOutcome outcome = Match(kText, ContextId::kProcess);
    ASSERT_EQ(outcome.hits.size(), 1u);
    EXPECT_EQ(outcome.device_ns, kKernelNs);
  }
  lane_->Stop();
  const CounterValues after = Counters();
  const auto grew = [&](Counter c, std::size_t label = 0) {
    return after.Of(c, label) - before.Of(c, label);
  };
  EXPECT_EQ(grew(Counter::kDispatchCalls), kScans);
  EXPECT_EQ(grew(Counter::kKernelTime), kScans * kKernelNs);
  EXPECT_EQ(grew(Counter::kUploadTime), kScans * kUploadNs);
  EXPECT_EQ(grew(Counter::kReadbackTime), kScans * kReadbackNs);
  EXPECT_EQ(grew(Counter::kSubmitToCompleteTime),
            grew(Counter::kKernelTime) + grew(Counter::kQueueWaitTime));
  EXPECT_LE(grew(Counter::kUploadTime) + grew(Counter::kReadbackTime),
            grew(Counter::kQueueWaitTime) + grew(Counter::kOverlapTime));
  EXPECT_GE(grew(Counter::kUploadBytes, Index(Traffic::kText)), kScans * kText.size());
  EXPECT_EQ(grew(Counter::kUploadBytes, Index(Traffic::kTable)), 0u);
  EXPECT_EQ(grew(Counter::kAllocationCalls), 0u) << "every buffer stands before the first scan";
  EXPECT_EQ(grew(Counter::kAccountingErrors), 0u);
  EXPECT_EQ(after.Of(Counter::kAllocatedBytes), after.Of(Counter::kFreedBytes))
      << "a closed device has given everything back";
}

TEST_F(ScanBooks, AProfiledScansRecordIsItsPartOfTheProcess) {
  EXPECT_TRUE(Match(kText, ContextId::kProcess).status.ok());
  const ContextId scan = *recorder_.OpenContext();
  const CounterValues before = Counters();
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(Match(kText, scan).status.ok());
  const CounterValues after = Counters();
  EXPECT_TRUE(Match(kText, ContextId::kProcess).status.ok());  // another's, not in the record
  const ContextRecord record = *recorder_.CloseContext(scan);
  for (std::size_t c = 0; c < kCounters; ++c) {
    const auto counter = static_cast<Counter>(c);
    if (counter == Counter::kEvents || counter == Counter::kCapabilityGaps) continue;
    EXPECT_EQ(record.counters.Sum(counter), after.Sum(counter) - before.Sum(counter))
        << kCounterRows[c].name;
  }
  // Said before for the process, once more for the scan.
  EXPECT_EQ(record.counters.Of(Counter::kEvents, Index(Event::kAdapterAcquired)), 1u);
  EXPECT_EQ(record.counters.Sum(Counter::kCapabilityGaps), 3u);
  EXPECT_EQ(record.counters.Of(Counter::kDispatchCalls), 3u);
}

TEST_F(ScanBooks, DeviceTimeIsSharedOutWithoutRest) {
  // Several requests at once, of uneven sizes: they share batches as they come.
  uint64_t charged = 0;
  std::vector<std::future<MatchOutcome>> outcomes;
  std::vector<std::unique_ptr<std::string>> texts;
  for (uint64_t i = 0; i < 50; ++i) {
    texts.push_back(std::make_unique<std::string>(i * 9973 % 70'000 + 1, 'x'));
    auto promise = std::make_shared<std::promise<MatchOutcome>>();
    outcomes.push_back(promise->get_future());
    MatchJob job;
    job.bytes = {reinterpret_cast<const uint8_t*>(texts.back()->data()), texts.back()->size()};
    job.table = table_;
    job.request = i;
    job.done = [promise](MatchOutcome outcome) { promise->set_value(std::move(outcome)); };
    lane_->Submit(std::move(job));
  }
  for (auto& outcome : outcomes) charged += outcome.get().device_ns;
  lane_->Stop();
  EXPECT_EQ(charged, Counters().Of(Counter::kKernelTime));
  EXPECT_GT(charged, 0u);
}

}  // namespace
}  // namespace keysieve::evidence
