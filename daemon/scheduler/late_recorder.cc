// SPDX-License-Identifier: MIT
// Kept calls, then none; see late_recorder.h.
#include "daemon/scheduler/late_recorder.h"

namespace keysieve::scheduler {

using evidence::DeviceRecorder;
using evidence::ScanRecorder;

void LateRecorder::Attach(ScanRecorder* target) {
  MutexLock lock(mutex_);
  for (const auto& call : early_) call(*target);
  early_.clear();
  target_.store(target, std::memory_order_release);
}

template <typename Call>
void LateRecorder::Pass(Call call) {
  if (ScanRecorder* target = target_.load(std::memory_order_acquire)) return call(*target);
  MutexLock lock(mutex_);
  if (ScanRecorder* target = target_.load(std::memory_order_acquire)) return call(*target);
  early_.push_back(call);
}

void LateRecorder::Bind(std::span<const evidence::ContextId> scans) {
  if (ScanRecorder* target = target_.load(std::memory_order_acquire)) target->Bind(scans);
}
void LateRecorder::Submitted() {
  Pass([](DeviceRecorder& r) { r.Submitted(); });
}
void LateRecorder::Completed(const evidence::DispatchRecord& record) {
  Pass([record](DeviceRecorder& r) { r.Completed(record); });
}
void LateRecorder::Allocated(uint64_t bytes) {
  Pass([bytes](DeviceRecorder& r) { r.Allocated(bytes); });
}
void LateRecorder::Freed(uint64_t bytes) {
  Pass([bytes](DeviceRecorder& r) { r.Freed(bytes); });
}
void LateRecorder::Compiled(uint64_t ns) {
  Pass([ns](DeviceRecorder& r) { r.Compiled(ns); });
}
void LateRecorder::PipelineCache(bool hit) {
  Pass([hit](DeviceRecorder& r) { r.PipelineCache(hit); });
}
void LateRecorder::Fault(evidence::FaultKind kind) {
  Pass([kind](DeviceRecorder& r) { r.Fault(kind); });
}
void LateRecorder::Retried(uint32_t attempt) {
  Pass([attempt](DeviceRecorder& r) { r.Retried(attempt); });
}
void LateRecorder::Recovered() {
  Pass([](DeviceRecorder& r) { r.Recovered(); });
}
void LateRecorder::RecoveredFor(std::span<const evidence::ContextId> scans) {
  if (ScanRecorder* target = target_.load(std::memory_order_acquire)) {
    target->RecoveredFor(scans);
  } else {
    Recovered();
  }
}
void LateRecorder::ResidualBatch() {
  Pass([](DeviceRecorder& r) { r.ResidualBatch(); });
}
void LateRecorder::OverflowReplayed() {
  Pass([](DeviceRecorder& r) { r.OverflowReplayed(); });
}
void LateRecorder::Quarantined() {
  Pass([](DeviceRecorder& r) { r.Quarantined(); });
}
void LateRecorder::Observed(std::optional<double> utilization, std::optional<double> occupancy) {
  Pass([=](DeviceRecorder& r) { r.Observed(utilization, occupancy); });
}
void LateRecorder::Busy(uint64_t ns) {
  Pass([ns](DeviceRecorder& r) { r.Busy(ns); });
}
void LateRecorder::Stalled(uint64_t cycles) {
  Pass([cycles](DeviceRecorder& r) { r.Stalled(cycles); });
}

}  // namespace keysieve::scheduler
