// SPDX-License-Identifier: MIT
// Registration and snapshots; the recording itself is in device_ledger.cc.
#include "evidence/recorder.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "evidence/base/status.h"

namespace keysieve::evidence {

Recorder::Recorder(const Options& options)
    : options_(options),
      said_({.contexts = options.contexts + 1,
             .devices = options.devices,
             .capacity = options.once_capacity}),
      contexts_(options.contexts, said_) {}

absl::StatusOr<DeviceLedger*> Recorder::RegisterDevice(Accelerator accelerator, int index,
                                                       DeviceIdentity identity,
                                                       CapabilityFlags capabilities) {
  KS_RETURN_IF_ERROR(AcceleratorFromCode(static_cast<int>(accelerator)).status());
  if (index < 0 || index > 0xffff) {
    return absl::InvalidArgumentError(
        Cat(AcceleratorName(accelerator), " device index ", index, " is not in 0..65535"));
  }
  MutexLock lock(mutex_);
  for (const auto& ledger : ledgers_) {
    if (ledger->accelerator() != accelerator || ledger->index() != index) continue;
    if (ledger->identity() == identity && ledger->capabilities() == capabilities) {
      return ledger.get();
    }
    return absl::AlreadyExistsError(Cat(AcceleratorName(accelerator), " device ", index, " is \"",
                                        ledger->identity().name, "\" and can't become \"",
                                        identity.name, "\"; restart to renumber devices"));
  }
  if (ledgers_.size() == options_.devices) {
    return absl::ResourceExhaustedError(Cat("no room to record ", AcceleratorName(accelerator),
                                            " device ", index, ": all ", options_.devices,
                                            " places are taken; select fewer devices"));
  }
  ledgers_.push_back(std::make_unique<DeviceLedger>(accelerator, static_cast<uint16_t>(index),
                                                    std::move(identity), capabilities,
                                                    ledgers_.size(), said_, contexts_));
  return ledgers_.back().get();
}

absl::StatusOr<ContextId> Recorder::OpenContext() { return contexts_.Open(); }

absl::StatusOr<ContextRecord> Recorder::CloseContext(ContextId id) { return contexts_.Close(id); }

std::vector<DeviceSnapshot> Recorder::Snapshot() const {
  std::vector<DeviceSnapshot> snapshots;
  {
    MutexLock lock(mutex_);
    for (const auto& ledger : ledgers_) snapshots.push_back(ledger->Snapshot());
  }
  std::sort(snapshots.begin(), snapshots.end(), [](const auto& a, const auto& b) {
    return std::tie(a.accelerator, a.index) < std::tie(b.accelerator, b.index);
  });
  return snapshots;
}

}  // namespace keysieve::evidence
