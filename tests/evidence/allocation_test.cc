// SPDX-License-Identifier: MIT
// Recording allocates nothing: every operator new of this program is counted.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <new>

#include "evidence/recorder.h"

namespace {
std::atomic<uint64_t> g_allocations{0};

// Not inlined, or g++ takes the pairs for mismatched.
[[gnu::noinline]] void* Counted(std::size_t size, std::size_t alignment) {
  g_allocations.fetch_add(1);
  const std::size_t rounded = (size + alignment - 1) / alignment * alignment;
  void* memory = std::aligned_alloc(alignment, rounded == 0 ? alignment : rounded);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
[[gnu::noinline]] void Free(void* memory) { std::free(memory); }
}  // namespace

void* operator new(std::size_t size) { return Counted(size, alignof(std::max_align_t)); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return Counted(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { Free(memory); }
void operator delete(void* memory, std::size_t) noexcept { Free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { Free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { Free(memory); }

namespace keysieve::evidence {
namespace {

void RecordEverything(DeviceLedger& ledger, std::span<const ContextId> scans) {
  DispatchRecord record;
  record.launched = true;
  record.uploads = {{1, 2, 3, 4}};
  record.readbacks = {{1, 2, 3, 4}};
  record.upload_ns = 10;
  record.kernel_ns = 20;
  record.readback_ns = 30;
  record.submit_to_complete_ns = 100;
  ledger.Bind(scans);
  ledger.Submitted();
  ledger.Completed(record);
  ledger.Allocated(100);
  ledger.Freed(50);
  ledger.Freed(1000);
  ledger.Compiled(5);
  ledger.PipelineCache(true);
  ledger.Fault(FaultKind::kTimeout);
  ledger.Retried(1);
  ledger.Recovered();
  ledger.RecoveredFor(scans);
  ledger.ResidualBatch();
  ledger.OverflowReplayed();
  ledger.Quarantined();
  ledger.Observed(0.5, 0.5);
  ledger.Busy(7);
  ledger.Stalled(7);
  ledger.Bind({});
}

TEST(Allocation, TheCounterSeesAnAllocation) {
  const uint64_t before = g_allocations.load();
  auto memory = std::make_unique<int>(1);
  EXPECT_EQ(g_allocations.load(), before + 1);
}

TEST(Allocation, RecordingAllocatesNothingFirstOrLater) {
  Recorder recorder({.contexts = 2, .once_capacity = 3});  // losses too
  DeviceLedger* ledger = *recorder.RegisterDevice(Accelerator::kCuda, 0, {}, {});
  const ContextId scans[] = {*recorder.OpenContext(), *recorder.OpenContext()};
  const uint64_t before = g_allocations.load();
  for (int i = 0; i < 100; ++i) RecordEverything(*ledger, scans);
  EXPECT_EQ(g_allocations.load(), before);
  EXPECT_EQ(recorder.CloseContext(scans[1])->counters.Of(Counter::kDispatchCalls), 100u);
}

}  // namespace
}  // namespace keysieve::evidence
