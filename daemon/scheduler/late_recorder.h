// SPDX-License-Identifier: MIT
// A recorder for the time before a device has said what it can do: a ledger needs the capabilities,
// and they are known only once the device is open. Calls until then are kept and replayed, but for
// Bind(): no scan runs yet. After Attach() every call goes straight through.
#pragma once

#include <atomic>
#include <functional>
#include <vector>

#include "evidence/base/mutex.h"
#include "evidence/scan_recorder.h"

namespace keysieve::scheduler {

class LateRecorder : public evidence::ScanRecorder {
 public:
  // Once. `target` outlives this.
  void Attach(evidence::ScanRecorder* target);

  void Bind(std::span<const evidence::ContextId> scans) override;
  void Submitted() override;
  void Completed(const evidence::DispatchRecord& record) override;
  void Allocated(uint64_t bytes) override;
  void Freed(uint64_t bytes) override;
  void Compiled(uint64_t ns) override;
  void PipelineCache(bool hit) override;
  void Fault(evidence::FaultKind kind) override;
  void Retried(uint32_t attempt) override;
  void Recovered() override;
  void RecoveredFor(std::span<const evidence::ContextId> scans) override;
  void ResidualBatch() override;
  void OverflowReplayed() override;
  void Quarantined() override;
  void Observed(std::optional<double> utilization, std::optional<double> occupancy) override;
  void Busy(uint64_t ns) override;
  void Stalled(uint64_t cycles) override;

 private:
  template <typename Call>
  void Pass(Call call);

  std::atomic<evidence::ScanRecorder*> target_{nullptr};
  Mutex mutex_;
  std::vector<std::function<void(evidence::DeviceRecorder&)>> early_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace keysieve::scheduler
