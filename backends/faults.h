// SPDX-License-Identifier: MIT
// Where an accelerator records its faults: once each, and a lost device once however many calls
// find it lost. Used by the one place of a backend that turns vendor codes into statuses.
#pragma once

#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "evidence/device_recorder.h"

namespace keysieve::backends {

class FaultLog {
 public:
  explicit FaultLog(evidence::DeviceRecorder* recorder) : recorder_(recorder) {}

  // Hands `status` back after recording `kind`, if it is a fault at all.
  absl::Status Record(std::optional<evidence::FaultKind> kind, absl::Status status) {
    if (!kind.has_value()) return status;
    const bool known = *kind == evidence::FaultKind::kDeviceLost && std::exchange(lost_, true);
    if (!known && recorder_ != nullptr) recorder_->Fault(*kind);
    return status;
  }
  bool lost() const { return lost_; }

 private:
  evidence::DeviceRecorder* const recorder_;
  bool lost_ = false;
};

}  // namespace keysieve::backends
