// SPDX-License-Identifier: MIT
// How each call changes the books. A report that cannot be true is refused whole and counted as an
// accounting error: nothing is clamped in silence.
#include "evidence/device_ledger.h"

#include <cmath>
#include <utility>

namespace keysieve::evidence {

// What one completed submission adds, worked out once for the process and every bound scan.
struct Deltas {
  struct Delta {
    std::size_t cell;
    uint64_t n;
  };
  std::array<Delta, 24> items;
  std::size_t count = 0;

  void Add(Counter counter, uint64_t n, std::size_t label = 0) noexcept {
    if (n != 0) items[count++] = {CellOf(counter, label), n};
  }
};

namespace {

// A kernel runs within a dispatch; any other reading is wrong.
bool KernelTimeIsPossible(const DispatchRecord& record) {
  return !record.kernel_ns ||
         (record.launched && *record.kernel_ns <= record.submit_to_complete_ns);
}

Deltas DeltasOf(const DispatchRecord& record, bool kernel_known) {
  Deltas deltas;
  for (std::size_t i = 0; i < kTrafficKinds; ++i) {
    deltas.Add(Counter::kUploadBytes, record.uploads.bytes[i], i);
    deltas.Add(Counter::kReadbackBytes, record.readbacks.bytes[i], i);
  }
  deltas.Add(Counter::kUploadTime, record.upload_ns.value_or(0));
  deltas.Add(Counter::kReadbackTime, record.readback_ns.value_or(0));
  deltas.Add(Counter::kOverlapTime, record.overlap_ns);
  if (record.launched) {
    deltas.Add(Counter::kDispatchCalls, 1);
    deltas.Add(Counter::kSubmitToCompleteTime, record.submit_to_complete_ns);
  }
  if (kernel_known) {
    deltas.Add(Counter::kKernelTime, *record.kernel_ns);
    deltas.Add(Counter::kQueueWaitTime, record.submit_to_complete_ns - *record.kernel_ns);
  }
  if (!KernelTimeIsPossible(record)) deltas.Add(Counter::kAccountingErrors, 1);
  return deltas;
}

void RaiseTo(std::atomic<uint64_t>& peak, uint64_t value) noexcept {
  uint64_t old = peak.load(std::memory_order_relaxed);
  while (old < value && !peak.compare_exchange_weak(old, value, std::memory_order_relaxed)) {
  }
}

std::optional<double> Present(double reading) {
  if (std::isnan(reading)) return std::nullopt;
  return reading;
}

}  // namespace

bool CapabilityFlags::Has(Capability capability) const {
  switch (capability) {
    case Capability::kKernelTimestamps:
      return kernel_timestamps;
    case Capability::kOccupancy:
      return occupancy;
    case Capability::kUtilization:
      return utilization;
    case Capability::kStallCounters:
      return stall_counters;
  }
  return false;
}

DeviceLedger::DeviceLedger(Accelerator accelerator, uint16_t index, DeviceIdentity identity,
                           CapabilityFlags capabilities, std::size_t number, OnceSet& said,
                           ContextPool& contexts)
    : accelerator_(accelerator),
      index_(index),
      identity_(std::move(identity)),
      capabilities_(capabilities),
      number_(number),
      said_(said),
      contexts_(contexts),
      bound_(contexts.slots()) {}

void DeviceLedger::Bind(std::span<const ContextId> scans) noexcept {
  std::size_t count = 0;
  for (ContextId id : scans) {
    if (count == bound_.size()) {
      Count(Counter::kAccountingErrors);
      break;
    }
    bound_[count++].store(static_cast<uint64_t>(id), std::memory_order_relaxed);
  }
  bound_count_.store(count, std::memory_order_release);
}

template <typename Function>
void DeviceLedger::ForEachBound(Function function) noexcept {
  const std::size_t count = bound_count_.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < count; ++i) {
    const auto id = static_cast<ContextId>(bound_[i].load(std::memory_order_relaxed));
    if (auto slot = contexts_.Pin(id)) function(*slot);
  }
}

void DeviceLedger::Count(Counter counter, std::size_t label, uint64_t n) noexcept {
  const std::size_t cell = CellOf(counter, label);
  counters_.Add(cell, n);
  ForEachBound([=](ContextSlot& slot) { slot.counters.Add(cell, n); });
}

void DeviceLedger::CountAll(const Deltas& deltas) noexcept {
  for (std::size_t i = 0; i < deltas.count; ++i) {
    counters_.Add(deltas.items[i].cell, deltas.items[i].n);
  }
  ForEachBound([&deltas](ContextSlot& slot) {
    for (std::size_t i = 0; i < deltas.count; ++i) {
      slot.counters.Add(deltas.items[i].cell, deltas.items[i].n);
    }
  });
}

JournalEntry DeviceLedger::Entry(Event event, uint32_t value) const noexcept {
  return {.annotation = false,
          .code = static_cast<uint8_t>(event),
          .accelerator = accelerator_,
          .device = index_,
          .value = value};
}

JournalEntry DeviceLedger::Entry(Annotation annotation, uint32_t value) const noexcept {
  return {.annotation = true,
          .code = static_cast<uint8_t>(annotation),
          .accelerator = accelerator_,
          .device = index_,
          .value = value};
}

void DeviceLedger::Happened(Event event, uint32_t value) noexcept {
  counters_.Add(CellOf(Counter::kEvents, Index(event)), 1);
  ForEachBound([&](ContextSlot& slot) { HappenedIn(slot, event, value); });
}

void DeviceLedger::HappenedIn(ContextSlot& slot, Event event, uint32_t value) noexcept {
  slot.counters.Add(CellOf(Counter::kEvents, Index(event)), 1);
  slot.Note(Entry(event, value));
}

void DeviceLedger::Submitted() { submitted_.store(true, std::memory_order_relaxed); }

void DeviceLedger::Completed(const DispatchRecord& record) {
  const bool kernel_known = record.kernel_ns.has_value() && KernelTimeIsPossible(record);
  CountAll(DeltasOf(record, kernel_known));
  const auto observe = [this](Distribution which, uint64_t ns) {
    distributions_[Index(which)].Observe(ns);
  };
  if (record.upload_ns) observe(Distribution::kUpload, *record.upload_ns);
  if (record.readback_ns) observe(Distribution::kReadback, *record.readback_ns);
  if (record.launched) observe(Distribution::kSubmitToComplete, record.submit_to_complete_ns);
  if (kernel_known) {
    observe(Distribution::kKernel, *record.kernel_ns);
    observe(Distribution::kQueueWait, record.submit_to_complete_ns - *record.kernel_ns);
  }
  if (record.launched) Announce();
}

// Says who did the work and what it can't read, once in each context.
void DeviceLedger::Announce() noexcept {
  completed_.store(true, std::memory_order_relaxed);
  AnnounceIn(0, [this](Counter counter, std::size_t label, const JournalEntry*) {
    counters_.Add(CellOf(counter, label), 1);
  });
  ForEachBound([this](ContextSlot& slot) {
    AnnounceIn(slot.number,
               [this, &slot](Counter counter, std::size_t label, const JournalEntry* entry) {
                 slot.counters.Add(CellOf(counter, label), 1);
                 if (entry == nullptr) return;
                 slot.Note(*entry);
                 if (entry->code != static_cast<uint8_t>(Event::kAdapterAcquired)) return;
                 slot.Note(Entry(Annotation::kBackendKind, static_cast<uint32_t>(accelerator_)));
                 slot.Note(Entry(Annotation::kPciVendor, identity_.pci_vendor));
                 slot.Note(Entry(Annotation::kPciDevice, identity_.pci_device));
               });
  });
}

// `said(counter, label, entry)` is called for each thing that was not said before.
template <typename Said>
void DeviceLedger::AnnounceIn(std::size_t context, Said said) noexcept {
  uint32_t items = 1;
  for (const CapabilityRow& row : kCapabilityRows) {
    if (!capabilities_.Has(static_cast<Capability>(row.number))) items |= 1u << row.number;
  }
  if (said_.AllSeen(context, number_, items)) return;
  for (std::size_t item = 0; item < kOnceItems; ++item) {
    if ((items >> item & 1) == 0) continue;
    const OnceSet::Outcome outcome = said_.Insert(context, number_, item);
    if (outcome == OnceSet::Outcome::kLost) {
      counters_.AddSaturating(CellOf(Counter::kOnceLosses), 1);
    }
    if (outcome != OnceSet::Outcome::kFirst) continue;
    const Event event = item == 0 ? Event::kAdapterAcquired : Event::kCapabilityUnsupported;
    const JournalEntry entry = Entry(event, static_cast<uint32_t>(item));
    if (item != 0) said(Counter::kCapabilityGaps, item - 1, nullptr);
    said(Counter::kEvents, Index(event), &entry);
  }
}

void DeviceLedger::Allocated(uint64_t bytes) {
  Count(Counter::kAllocationCalls);
  Count(Counter::kAllocatedBytes, 0, bytes);
  RaiseTo(peak_, resident_.fetch_add(bytes, std::memory_order_relaxed) + bytes);
}

void DeviceLedger::Freed(uint64_t bytes) {
  uint64_t resident = resident_.load(std::memory_order_relaxed);
  do {
    if (bytes > resident) {
      Count(Counter::kAccountingErrors);
      return;
    }
  } while (!resident_.compare_exchange_weak(resident, resident - bytes, std::memory_order_relaxed));
  Count(Counter::kFreedBytes, 0, bytes);
}

void DeviceLedger::Compiled(uint64_t ns) {
  Count(Counter::kCompileCalls);
  Count(Counter::kCompileTime, 0, ns);
}

void DeviceLedger::PipelineCache(bool hit) {
  Count(hit ? Counter::kPipelineCacheHits : Counter::kPipelineCacheMisses);
}

void DeviceLedger::Fault(FaultKind kind) {
  if (Index(kind) >= kFaultKinds) {
    Count(Counter::kAccountingErrors);
    return;
  }
  Count(Counter::kFaults, Index(kind));
  Happened(Event::kFault, static_cast<uint32_t>(kind));
}

void DeviceLedger::Retried(uint32_t attempt) {
  retry_attempt_.store(attempt, std::memory_order_relaxed);
  Count(Counter::kRetries);
  ForEachBound([&](ContextSlot& slot) { slot.Note(Entry(Annotation::kRetryAttempt, attempt)); });
}

void DeviceLedger::Recovered() {
  Count(Counter::kRecoveries);
  Happened(Event::kBackendRecovered, 0);
}

void DeviceLedger::RecoveredFor(std::span<const ContextId> scans) {
  counters_.Add(CellOf(Counter::kRecoveries), 1);
  counters_.Add(CellOf(Counter::kEvents, Index(Event::kBackendRecovered)), 1);
  for (const ContextId id : scans) {
    if (auto slot = contexts_.Pin(id)) {
      slot->counters.Add(CellOf(Counter::kRecoveries), 1);
      HappenedIn(*slot, Event::kBackendRecovered, 0);
    }
  }
}

void DeviceLedger::ResidualBatch() { Count(Counter::kResidualBatches); }
void DeviceLedger::OverflowReplayed() { Count(Counter::kOverflowReplays); }
void DeviceLedger::Quarantined() { Happened(Event::kDeviceQuarantined, 0); }
void DeviceLedger::Busy(uint64_t ns) { Count(Counter::kBusyTime, 0, ns); }
void DeviceLedger::Stalled(uint64_t cycles) { Count(Counter::kStallCycles, 0, cycles); }

void DeviceLedger::Observed(std::optional<double> utilization_ratio,
                            std::optional<double> occupancy_ratio) {
  const auto keep = [this](std::atomic<double>& gauge, std::optional<double> reading) {
    if (reading && !std::isfinite(*reading)) {
      Count(Counter::kAccountingErrors);
      reading.reset();
    }
    gauge.store(reading.value_or(std::numeric_limits<double>::quiet_NaN()),
                std::memory_order_relaxed);
  };
  keep(utilization_, utilization_ratio);
  keep(occupancy_, occupancy_ratio);
}

DeviceSnapshot DeviceLedger::Snapshot() const {
  DeviceSnapshot s{.accelerator = accelerator_,
                   .index = index_,
                   .identity = identity_,
                   .capabilities = capabilities_};
  s.submitted = submitted_.load(std::memory_order_relaxed);
  s.completed = completed_.load(std::memory_order_relaxed);
  s.counters = counters_.Read();
  for (std::size_t i = 0; i < kDistributions; ++i) s.distributions[i] = distributions_[i].Read();
  s.resident_bytes = resident_.load(std::memory_order_relaxed);
  s.peak_resident_bytes = peak_.load(std::memory_order_relaxed);
  s.retry_attempt = retry_attempt_.load(std::memory_order_relaxed);
  s.occupancy_ratio = Present(occupancy_.load(std::memory_order_relaxed));
  s.utilization_ratio = Present(utilization_.load(std::memory_order_relaxed));
  return s;
}

}  // namespace keysieve::evidence
