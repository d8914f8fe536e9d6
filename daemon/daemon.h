// SPDX-License-Identifier: MIT
// The daemon put together: rules, lanes, workers, pipeline, servers, in the order they need one
// another, and taken down the other way round. main.cc runs it.
//
//   auto daemon = Daemon::Start(config, log, surroundings);
//   ...wait for a signal...
//   (*daemon)->Drain([] { return hurried; });
//
// daemon.cc has the way up and down, daemon_status.cc what it says of itself, daemon_page.cc what
// the status page shows.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "absl/status/statusor.h"
#include "daemon/admin/history.h"
#include "daemon/admin/http_endpoint.h"
#include "daemon/admin/recent_lines.h"
#include "daemon/admin/service_source.h"
#include "daemon/admin/status_page.h"
#include "daemon/config/config.h"
#include "daemon/config/log.h"
#include "daemon/restart_plan.h"
#include "daemon/scan_pipeline.h"
#include "daemon/scheduler/device_lanes.h"
#include "daemon/transport/handover.h"
#include "daemon/transport/server.h"
#include "evidence/exporter.h"
#include "evidence/recorder.h"
#include "evidence/recorder_source.h"
#include "evidence/standard_sources.h"

namespace keysieve {

// The rules of `config`, compiled. INVALID_ARGUMENT in the rule file's own words.
absl::StatusOr<pipeline::LoadedRules> LoadRules(const config::Config& config);
// Threads of the workers and of the CPU route.
uint32_t CpuThreads(const config::Config& config);

// What the daemon finds and whom it tells.
struct Surroundings {
  // Left by the program this one took the place of. Then what does not open is no error: that
  // program was serving without it too.
  std::optional<transport::Handover> handover;
  // The main thread is to look at restart_due(), or to drain; any thread.
  std::function<void()> want_restart = [] {};
  std::function<void()> want_drain = [] {};
};

class Daemon {
 public:
  // Serves when it returns. INVALID_ARGUMENT: rules or settings; else: an address or a device.
  static absl::StatusOr<std::unique_ptr<Daemon>> Start(const config::Config& config,
                                                       const config::Log& log,
                                                       Surroundings surroundings);
  // Ends what Drain() left.
  ~Daemon();

  // Refuses new scans, lets those under way end (30 s at most, or until `hurry` says so), then
  // stops serving.
  void Drain(const std::function<bool()>& hurry);

  // A device was given up and the moment has come to run this program anew.
  bool restart_due() const { return restart_due_.load(); }
  // It cannot be now, `why`; asked again in a while.
  void PostponeRestart(const std::string& why);
  // Ends what is in flight (at once where it was waited for long enough already, with UNAVAILABLE
  // and RetryInfo), stops serving and leaves the sockets to the next program.
  transport::Handover LeaveForRestart();

  // True if a device was given up: the process must then leave by _exit().
  bool abandoned_devices() const { return scheduler_->any_abandoned(); }

 private:
  Daemon(const config::Config& config, const config::Log& log, Surroundings surroundings);
  absl::Status Serve();
  absl::Status ServePages();
  transport::AdminHandlers Admin();
  void Tell();
  void LookAfterLanes();
  void AwaitStreams(std::chrono::steady_clock::time_point deadline,
                    const std::function<bool()>& hurry);
  void ReadStatus(v1::Status* status) const;
  admin::StatusView View() const;
  void TakeHistory();
  void LogLosses();
  bool Ready() const;
  void Housekeeping();
  void LogStart() const;

  const config::Config config_;
  admin::RecentLines recent_;
  const config::Log log_;  // keeps warnings in recent_ too
  Surroundings surroundings_;
  const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  RestartPlan restart_;
  std::atomic<bool> restart_due_{false};
  evidence::Recorder recorder_;
  std::vector<std::unique_ptr<scheduler::LateRecorder>> late_recorders_;
  pipeline::ScanCounters counters_;
  admin::History history_;
  uint64_t losses_said_ = 0;  // housekeeper's own, as the next
  std::chrono::steady_clock::time_point losses_said_at_{};
  transport::RpcCounters rpcs_;
  std::unique_ptr<scheduler::WorkerPool> workers_;
  std::unique_ptr<scheduler::Scheduler> scheduler_;
  std::string route_reason_;
  std::unique_ptr<pipeline::ScanPipeline> pipeline_;
  evidence::RecorderSource recorder_source_{recorder_};
  evidence::ProcessSource process_source_;
  std::unique_ptr<evidence::BuildInfoSource> build_source_;
  std::unique_ptr<admin::ServiceSource> service_source_;
  evidence::Exporter exporter_;
  std::unique_ptr<transport::Server> server_;
  std::unique_ptr<admin::HttpEndpoint> http_;

  Mutex mutex_;
  CondVar wake_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread housekeeper_;
};

}  // namespace keysieve
