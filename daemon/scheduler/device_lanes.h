// SPDX-License-Identifier: MIT
// Makes lanes over real devices: picks the devices, opens each with a session on its lane's thread,
// and sets the CPU route beside accelerators. Which backend may stand in for which is decided here:
// a named accelerator that cannot start is an error, `auto` goes on with what there is.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backends/registry.h"
#include "daemon/config/config.h"
#include "daemon/config/log.h"
#include "daemon/scheduler/late_recorder.h"
#include "daemon/scheduler/scheduler.h"
#include "evidence/recorder.h"

namespace keysieve::scheduler {

struct DeviceLanes {
  std::vector<std::unique_ptr<LateRecorder>> recorders;  // outlive the scheduler
  std::unique_ptr<Scheduler> scheduler;
  std::string why;  // these devices, one sentence
};

// UNAVAILABLE if a named backend or device cannot start, or nothing can; INVALID_ARGUMENT and
// NOT_FOUND as SelectDevices(). `recorder` and `log` outlive the lanes.
//
// `keep_going`: this daemon was serving a moment ago and must go on. Then a device that does not
// open is a lane that failed to open, and with none left to select the CPU route does the work.
absl::StatusOr<DeviceLanes> StartLanes(const config::Config& config, evidence::Recorder& recorder,
                                       const config::Log& log, bool keep_going = false);

}  // namespace keysieve::scheduler
