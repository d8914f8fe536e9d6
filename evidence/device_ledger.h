// SPDX-License-Identifier: MIT
// One device's books: the DeviceRecorder that backends and sessions call, kept in atomics. Made by
// Recorder alone, which owns it for its own lifetime. Every call that records is lock-free, never
// throws and never allocates; any thread may call, though a device's lane usually does.
//
//   DeviceLedger* ledger = *recorder.RegisterDevice(Accelerator::kCuda, 0, identity, capabilities);
//   ledger->Bind(scans_of_this_batch);  // lane thread
//   session.Collect(...);               // Completed() now counts for those scans too
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "evidence/cells.h"
#include "evidence/context_pool.h"
#include "evidence/once_set.h"
#include "evidence/scan_recorder.h"
#include "evidence/vocabulary.h"

namespace keysieve::evidence {

// Strings are whatever the driver says; empty or 0 is unknown.
struct DeviceIdentity {
  std::string name;
  std::string driver;
  std::string driver_info;
  std::string uuid;
  std::string pci_address;
  uint32_t pci_vendor = 0;
  uint32_t pci_device = 0;
  bool software = false;

  bool operator==(const DeviceIdentity&) const = default;
};

// What the device can read of itself; each false is a gap.
struct CapabilityFlags {
  bool kernel_timestamps = false;
  bool occupancy = false;
  bool utilization = false;
  bool stall_counters = false;

  bool Has(Capability capability) const;
  bool operator==(const CapabilityFlags&) const = default;
};

// A copy of the books.
struct DeviceSnapshot {
  Accelerator accelerator = Accelerator::kCuda;
  int index = 0;
  DeviceIdentity identity;
  CapabilityFlags capabilities;
  bool submitted = false;  // false: show nothing
  bool completed = false;  // a dispatch has completed: identity and capabilities may be shown
  CounterValues counters;
  std::array<HistogramValues, kDistributions> distributions;
  uint64_t resident_bytes = 0;
  uint64_t peak_resident_bytes = 0;
  uint32_t retry_attempt = 0;
  std::optional<double> occupancy_ratio;
  std::optional<double> utilization_ratio;
};

struct Deltas;

class DeviceLedger final : public ScanRecorder {
 public:
  // `number` is the device's place in `said`. `said` and `contexts` outlive the ledger.
  DeviceLedger(Accelerator accelerator, uint16_t index, DeviceIdentity identity,
               CapabilityFlags capabilities, std::size_t number, OnceSet& said,
               ContextPool& contexts);

  // Ids that are closed meanwhile are passed over. More scans than there are contexts cannot be
  // open: the rest is dropped and counted as an accounting error.
  void Bind(std::span<const ContextId> scans) noexcept override;

  void Submitted() override;
  void Completed(const DispatchRecord& record) override;
  void Allocated(uint64_t bytes) override;
  void Freed(uint64_t bytes) override;
  void Compiled(uint64_t ns) override;
  void PipelineCache(bool hit) override;
  void Fault(FaultKind kind) override;
  void Retried(uint32_t attempt) override;
  void Recovered() override;
  void RecoveredFor(std::span<const ContextId> scans) override;
  void ResidualBatch() override;
  void OverflowReplayed() override;
  void Quarantined() override;
  void Observed(std::optional<double> utilization_ratio,
                std::optional<double> occupancy_ratio) override;
  void Busy(uint64_t ns) override;
  void Stalled(uint64_t cycles) override;

  DeviceSnapshot Snapshot() const;

  Accelerator accelerator() const { return accelerator_; }
  int index() const { return index_; }
  const DeviceIdentity& identity() const { return identity_; }
  const CapabilityFlags& capabilities() const { return capabilities_; }

 private:
  template <typename Function>
  void ForEachBound(Function function) noexcept;
  void Count(Counter counter, std::size_t label = 0, uint64_t n = 1) noexcept;
  void CountAll(const Deltas& deltas) noexcept;
  void Happened(Event event, uint32_t value) noexcept;
  void HappenedIn(ContextSlot& slot, Event event, uint32_t value) noexcept;
  void Announce() noexcept;
  template <typename Said>
  void AnnounceIn(std::size_t context, Said said) noexcept;
  JournalEntry Entry(Event event, uint32_t value) const noexcept;
  JournalEntry Entry(Annotation annotation, uint32_t value) const noexcept;

  const Accelerator accelerator_;
  const uint16_t index_;
  const DeviceIdentity identity_;
  const CapabilityFlags capabilities_;
  const std::size_t number_;
  OnceSet& said_;
  ContextPool& contexts_;

  alignas(64) CounterCells counters_;
  std::array<HistogramCells, kDistributions> distributions_;
  std::atomic<bool> submitted_{false};
  std::atomic<bool> completed_{false};
  std::atomic<uint64_t> resident_{0};
  std::atomic<uint64_t> peak_{0};
  std::atomic<uint32_t> retry_attempt_{0};
  std::atomic<double> occupancy_{std::numeric_limits<double>::quiet_NaN()};    // NaN: absent
  std::atomic<double> utilization_{std::numeric_limits<double>::quiet_NaN()};  // NaN: absent
  std::vector<std::atomic<uint64_t>> bound_;
  std::atomic<std::size_t> bound_count_{0};
};

}  // namespace keysieve::evidence
