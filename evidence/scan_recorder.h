// SPDX-License-Identifier: MIT
// A DeviceRecorder that also knows for which profiled scans the work is done: what a lane talks to,
// where backends and sessions talk to a DeviceRecorder and know nothing of scans.
//
//   recorder->Bind(scans_of_this_batch);
//   session.Next(deadline);  // what is recorded meanwhile counts for those scans too
#pragma once

#include <cstdint>
#include <span>

#include "evidence/device_recorder.h"

namespace keysieve::evidence {

// What work is recorded under besides its device: the process, or one profiled scan. Never reused
// while the process lives; 0 is the process itself.
enum class ContextId : uint64_t { kProcess = 0 };

class ScanRecorder : public DeviceRecorder {
 public:
  // From now on, until the next call, what is recorded counts for these scans as well as for the
  // process. Lane thread only.
  virtual void Bind(std::span<const ContextId> /*scans*/) {}
  // Recovered() for a batch of these scans, whatever is bound now. Any thread.
  virtual void RecoveredFor(std::span<const ContextId> /*scans*/) { Recovered(); }
};

}  // namespace keysieve::evidence
