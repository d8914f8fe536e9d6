// SPDX-License-Identifier: MIT
// Recording, scraping, opening and closing at once: nothing is lost, nothing reaches a wrong scan.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "evidence/recorder.h"
#include "evidence/recorder_source.h"

namespace keysieve::evidence {
namespace {

DispatchRecord Launch() {
  DispatchRecord record;
  record.launched = true;
  record.submit_to_complete_ns = 100;
  record.kernel_ns = 60;
  record.uploads.bytes[0] = 3;
  return record;
}

TEST(Threads, NothingIsLostWhenManyRecordOnOneDevice) {
  constexpr int kThreads = 4;
  constexpr uint64_t kEach = 5000;
  Recorder recorder({});
  DeviceLedger* ledger = *recorder.RegisterDevice(Accelerator::kCuda, 0, {}, {});
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([ledger] {
      for (uint64_t i = 0; i < kEach; ++i) {
        ledger->Submitted();
        ledger->Completed(Launch());
        ledger->Allocated(10);
        ledger->Freed(10);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const DeviceSnapshot s = ledger->Snapshot();
  EXPECT_EQ(s.counters.Of(Counter::kDispatchCalls), kThreads * kEach);
  EXPECT_EQ(s.counters.Of(Counter::kUploadBytes, 0), 3 * kThreads * kEach);
  EXPECT_EQ(s.counters.Of(Counter::kFreedBytes), 10 * kThreads * kEach);
  EXPECT_EQ(s.counters.Of(Counter::kAccountingErrors), 0u);
  EXPECT_EQ(s.counters.Of(Counter::kEvents, Index(Event::kAdapterAcquired)), 1u);
  EXPECT_EQ(s.counters.Sum(Counter::kCapabilityGaps), 4u);
  EXPECT_EQ(s.resident_bytes, 0u);
  EXPECT_LE(s.peak_resident_bytes, 10u * kThreads);
  EXPECT_GE(s.peak_resident_bytes, 10u);
}

// The lane records for whichever scan is open while another thread opens and closes scans. The sum
// over their records and what fell between them is what the device counted.
TEST(Threads, AClosingScanGetsWholeDispatchesAndItsSuccessorNoneOfThem) {
  Recorder recorder({.contexts = 2});
  DeviceLedger* ledger = *recorder.RegisterDevice(Accelerator::kCuda, 0, {}, {});
  std::atomic<uint64_t> current{0};
  std::atomic<bool> stop{false};
  std::thread lane([&] {
    while (!stop.load()) {
      const auto id = static_cast<ContextId>(current.load());
      ledger->Bind({&id, 1});
      ledger->Completed(Launch());
    }
  });
  uint64_t attributed = 0;
  const auto dispatches = [ledger] {
    return ledger->Snapshot().counters.Of(Counter::kDispatchCalls);
  };
  for (int i = 0; i < 500; ++i) {
    const ContextId id = *recorder.OpenContext();
    current.store(static_cast<uint64_t>(id));
    // The lane may be in the midst of one for the old scan; the one before the third is whole.
    const uint64_t begin = dispatches();
    while (dispatches() < begin + 3) std::this_thread::yield();
    const ContextRecord record = *recorder.CloseContext(id);
    const CounterValues& c = record.counters;
    // Whole dispatches: the counters of one record agree with one another.
    EXPECT_EQ(c.Of(Counter::kUploadBytes, 0), 3 * c.Of(Counter::kDispatchCalls));
    EXPECT_EQ(c.Of(Counter::kSubmitToCompleteTime),
              c.Of(Counter::kKernelTime) + c.Of(Counter::kQueueWaitTime));
    EXPECT_EQ(c.Of(Counter::kEvents, Index(Event::kAdapterAcquired)), 1u);
    EXPECT_GE(c.Of(Counter::kDispatchCalls), 1u);
    attributed += c.Of(Counter::kDispatchCalls);
  }
  stop.store(true);
  lane.join();
  EXPECT_LE(attributed, ledger->Snapshot().counters.Of(Counter::kDispatchCalls));
  EXPECT_EQ(recorder.once_losses(), 0u);
}

TEST(Threads, ScrapesBesideRecordingNeverSeeACounterFall) {
  Recorder recorder({});
  DeviceLedger* ledger = *recorder.RegisterDevice(Accelerator::kCuda, 0, {}, {});
  std::thread lane([ledger] {
    for (int i = 0; i < 20000; ++i) {
      ledger->Submitted();
      ledger->Completed(Launch());
    }
  });
  const RecorderSource source(recorder);
  uint64_t last = 0;
  for (int i = 0; i < 200; ++i) {
    std::vector<MetricFamily> families;
    source.Collect(families);
    const uint64_t now = recorder.Snapshot()[0].counters.Of(Counter::kDispatchCalls);
    EXPECT_GE(now, last);
    last = now;
    for (int d = 1; d < 4; ++d) {
      ASSERT_TRUE(recorder.RegisterDevice(Accelerator::kVulkan, d, {}, {}).ok());
    }
  }
  lane.join();
}

}  // namespace
}  // namespace keysieve::evidence
