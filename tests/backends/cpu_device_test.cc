// SPDX-License-Identifier: MIT
// What is the CPU's own: its pool, its silence towards recorders, and leaving a stuck kernel
// behind.
#include "backends/cpu/cpu_device.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "backends/cpu/thread_pool.h"

namespace keysieve::backends {
namespace {

TEST(ThreadPool, RunsEachIndexOnceWhateverTheThreads) {
  for (const uint32_t threads : {1u, 2u, 7u}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    for (const uint32_t count : {0u, 1u, 2u, 1000u}) {
      std::vector<std::atomic<int>> runs(count + 1);
      pool.ParallelFor(count, [&](uint32_t i) { ++runs[i]; });
      for (uint32_t i = 0; i < count; ++i) ASSERT_EQ(runs[i], 1) << i << " of " << count;
      EXPECT_EQ(runs[count], 0);
    }
  }
}

TEST(ThreadPool, ZeroMeansOnePerHardwareThread) {
  EXPECT_EQ(ThreadPool(0).threads(), std::max(1u, std::thread::hardware_concurrency()));
}

TEST(CpuDevice, IsSoftwareAndClaimsNothing) {
  const auto device = *OpenCpuDevice({.cpu_threads = 2});
  EXPECT_TRUE(device->identity().software);
  EXPECT_FALSE(device->capabilities().kernel_timestamps);
  EXPECT_FALSE(device->capabilities().occupancy);
  EXPECT_FALSE(device->capabilities().utilization);
  EXPECT_FALSE(device->capabilities().stall_counters);
  EXPECT_EQ(device->limits().multiprocessors, 2u);
}

// A kernel that does not come back until its binding's first word is set, and then sets the second.
void Stuck(const HostWorkgroup& group) {
  auto* words = reinterpret_cast<uint32_t*>(group.bindings[0].data());
  while (std::atomic_ref(words[0]).load() == 0) std::this_thread::yield();
  std::atomic_ref(words[1]).store(1);
}

TEST(CpuDevice, AbandoningLeavesAStuckKernelAndItsMemoryBehind) {
  auto device = *OpenCpuDevice({.cpu_threads = 1});
  auto program = *device->Load({.name = "stuck", .host = Stuck, .bindings = 1});
  // The kernel watches words that outlive this test, through memory it holds on to itself.
  auto buffer = *device->Allocate(MemoryKind::kPinned, 8);
  auto* words = reinterpret_cast<uint32_t*>(buffer->host());
  words[0] = words[1] = 0;
  const BufferRange bindings[] = {{buffer.get(), 0, 8}};
  const Launch launch{.program = program.get(), .bindings = bindings};
  const Ticket ticket = *device->Submit({.launch = &launch});
  EXPECT_EQ(device->Wait(ticket, Clock::now() + std::chrono::milliseconds(1)).status().code(),
            absl::StatusCode::kDeadlineExceeded);
  device->Abandon();
  EXPECT_EQ(device->Wait(ticket, Clock::now()).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_FALSE(device->Done(ticket));
  program.reset();
  device.reset();  // does not wait for the kernel
  EXPECT_EQ(std::atomic_ref(words[1]).load(), 0u);
  std::atomic_ref(words[0]).store(1);  // lets the thread end
  while (std::atomic_ref(words[1]).load() == 0) std::this_thread::yield();
}

TEST(CpuDevice, DestructionRunsWhatWasSubmitted) {
  auto device = *OpenCpuDevice({.cpu_threads = 2});
  auto from = *device->Allocate(MemoryKind::kPinned, 1);
  auto to = *device->Allocate(MemoryKind::kPinned, 1);
  from->host()[0] = std::byte{42};
  to->host()[0] = std::byte{0};
  const Copy copy[] = {{{from.get(), 0, 1}, {to.get(), 0, 1}}};
  ASSERT_TRUE(device->Submit({.uploads = copy}).ok());
  device.reset();
  EXPECT_EQ(to->host()[0], std::byte{42});
}

}  // namespace
}  // namespace keysieve::backends
