// SPDX-License-Identifier: MIT
// What one device tells the world of its work. A backend calls this at its allocator, its compiler
// and its submissions; the session adds faults, retries, recoveries and replays. Every call is
// lock-free, never throws, never allocates and costs nanoseconds. Nothing becomes visible before
// the device's first submission; identity and capability gaps are recorded on the first dispatch
// that completes, once per context.
//
// The CPU route has no recorder: a scan that ran on the CPU alone leaves accelerator metrics alone.
#pragma once

#include <cstdint>
#include <optional>

namespace keysieve::evidence {

// Accelerators only; the numbers are stable and exported.
enum class Accelerator : uint8_t { kCuda = 1, kMetal = 2, kVulkan = 3 };

// What a copy carries: a label of the byte counters.
enum class Traffic : uint8_t { kText = 0, kControl = 1, kTable = 2, kHits = 3 };
inline constexpr int kTrafficKinds = 4;

enum class FaultKind : uint8_t {
  kDispatch = 0,
  kTimeout = 1,
  kOutOfMemory = 2,
  kDeviceLost = 3,
  kIntegrity = 4,
};
inline constexpr int kFaultKinds = 5;

struct CopyTotals {
  uint64_t bytes[kTrafficKinds] = {};  // by Traffic
};

// One submission that completed. Absent times were not measured: the backend cannot tell.
struct DispatchRecord {
  bool launched = false;  // false: copies only, no dispatch is counted
  CopyTotals uploads;
  CopyTotals readbacks;
  std::optional<uint64_t> upload_ns;
  std::optional<uint64_t> kernel_ns;
  std::optional<uint64_t> readback_ns;
  uint64_t submit_to_complete_ns = 0;
  uint64_t overlap_ns = 0;  // of its copies, while another kernel ran
};

class DeviceRecorder {
 public:
  virtual ~DeviceRecorder() = default;

  // A submission was handed to the driver: from now on the device's families exist, at zero.
  virtual void Submitted() = 0;
  // It completed. The first one with a launch records identity and capability gaps.
  virtual void Completed(const DispatchRecord& record) = 0;

  // Every real allocation, tables included, and its end.
  virtual void Allocated(uint64_t bytes) = 0;
  virtual void Freed(uint64_t bytes) = 0;

  virtual void Compiled(uint64_t ns) = 0;
  virtual void PipelineCache(bool hit) = 0;

  virtual void Fault(FaultKind kind) = 0;
  virtual void Retried(uint32_t attempt) = 0;  // from 1
  virtual void Recovered() = 0;                // the CPU route finished what the device could not
  virtual void ResidualBatch() = 0;            // a batch left over by a fault
  virtual void OverflowReplayed() = 0;         // a hit queue was too small; not a fault
  virtual void Quarantined() = 0;

  // Readings of the moment, where the backend has them. Each call states both: what is absent now
  // is withdrawn, so that an old reading is never taken for a new one.
  virtual void Observed(std::optional<double> utilization_ratio,
                        std::optional<double> occupancy_ratio) = 0;
  virtual void Busy(uint64_t ns) = 0;  // in-kernel busy time, as the device program measured it
  // Stall cycles since the last call, where a vendor query exists.
  virtual void Stalled(uint64_t /*cycles*/) {}
};

}  // namespace keysieve::evidence
