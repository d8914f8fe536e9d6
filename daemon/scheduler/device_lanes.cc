// SPDX-License-Identifier: MIT
// Devices, sessions and their lanes; see device_lanes.h.
#include "daemon/scheduler/device_lanes.h"

#include <cstdlib>

#include "daemon/scheduler/open_ladder.h"
#include "evidence/base/status.h"

namespace keysieve::scheduler {
namespace {

using backends::BackendKind;

constexpr std::chrono::seconds kHardwareWatchdog(10);
constexpr std::chrono::seconds kSoftwareWatchdog(120);  // a busy host may starve it
constexpr uint32_t kRecoveryBatches = 2;

std::string CacheDir() {
  for (const char* name : {"CACHE_DIRECTORY", "XDG_CACHE_HOME"}) {
    const char* value = std::getenv(name);
    if (value != nullptr && *value == '/') {
      return std::string(name) == "CACHE_DIRECTORY" ? value : Cat(value, "/keysieve");
    }
  }
  const char* home = std::getenv("HOME");
  return home != nullptr && *home == '/' ? Cat(home, "/.cache/keysieve") : "";
}

evidence::Accelerator AcceleratorOf(BackendKind kind) {
  return static_cast<evidence::Accelerator>(kind);  // the numbers are the same
}

megakernel::SessionPolicy PolicyOf(config::SessionPolicy policy) {
  switch (policy) {
    case config::SessionPolicy::kAuto:
      return megakernel::SessionPolicy::kAuto;
    case config::SessionPolicy::kResident:
      return megakernel::SessionPolicy::kResident;
    case config::SessionPolicy::kEpoch:
      return megakernel::SessionPolicy::kEpoch;
  }
  return megakernel::SessionPolicy::kAuto;
}

megakernel::SessionOptions SessionOf(const config::Config& config,
                                     const backends::Identity& identity) {
  megakernel::SessionOptions options;
  options.geometry.slots = config.session.slots;
  options.geometry.workgroup = config.session.workgroup;
  options.geometry.tenants = config.session.tenants;
  options.geometry.batches = config.session.batches;
  options.geometry.batch_bytes = config.session.batch_bytes;
  options.geometry.table_bytes = config.session.table_bytes;
  options.policy = identity.backend == BackendKind::kCpu ? megakernel::SessionPolicy::kEpoch
                                                         : PolicyOf(config.session.policy);
  options.watchdog = identity.software ? kSoftwareWatchdog : kHardwareWatchdog;
  if (config.recovery.watchdog_s != 0) {
    options.watchdog = std::chrono::seconds(config.recovery.watchdog_s);
  }
  return options;
}

absl::Status Register(evidence::Recorder& recorder, const backends::Device& device,
                      LateRecorder& late) {
  const backends::Identity& id = device.identity();
  const backends::Capabilities& can = device.capabilities();
  KS_ASSIGN_OR_RETURN(evidence::DeviceLedger * ledger,
                      recorder.RegisterDevice(AcceleratorOf(id.backend), id.index,
                                              {.name = id.name,
                                               .driver = id.driver,
                                               .driver_info = id.driver_info,
                                               .uuid = id.uuid,
                                               .pci_address = id.pci_address,
                                               .pci_vendor = id.pci_vendor,
                                               .pci_device = id.pci_device,
                                               .software = id.software},
                                              {.kernel_timestamps = can.kernel_timestamps,
                                               .occupancy = can.occupancy,
                                               .utilization = can.utilization,
                                               .stall_counters = can.stall_counters}));
  late.Attach(ledger);
  return absl::OkStatus();
}

LaneOpener DeviceOpener(backends::Identity identity, backends::OpenOptions open,
                        megakernel::SessionOptions session, evidence::Recorder* recorder,
                        LateRecorder* late, std::function<void(const std::string&)> say) {
  return [=]() -> absl::StatusOr<LaneParts> {
    LaneParts parts;
    KS_ASSIGN_OR_RETURN(parts.device, backends::OpenDevice(identity, open));
    if (late != nullptr) KS_RETURN_IF_ERROR(Register(*recorder, *parts.device, *late));
    KS_ASSIGN_OR_RETURN(parts.session, OpenSession(*parts.device, session, say));
    return parts;
  };
}

class Starter {
 public:
  Starter(const config::Config& config, evidence::Recorder& recorder, const config::Log& log,
          bool keep_going)
      : config_(config), recorder_(recorder), log_(log), keep_going_(keep_going) {}

  absl::StatusOr<DeviceLanes> Start() {
    KS_ASSIGN_OR_RETURN(backends::Choice choice, Select());
    lanes_.why = choice.why;
    const bool accelerated = choice.devices.front().backend != BackendKind::kCpu;
    std::unique_ptr<Lane> recovery;
    if (accelerated) {
      KS_ASSIGN_OR_RETURN(recovery, CpuRoute());
    }
    std::vector<std::unique_ptr<Lane>> lanes;
    int open = 0;
    absl::Status last;
    for (const backends::Identity& identity : choice.devices) {
      lanes.push_back(MakeLane(identity, config_.session.batches, recovery.get()));
      last = lanes.back()->Start();
      open += last.ok() ? 1 : 0;
      LogDevice(*lanes.back(), last);
      if (!last.ok() && !config_.backend.devices.empty() && !keep_going_) {
        return Refusal(identity, last);
      }
    }
    const bool named = (config_.backend.name != "auto" && !keep_going_) || !accelerated;
    if (open == 0 && named) return Refusal(choice.devices.front(), last);
    if (open == 0) lanes_.why += "; none of them opened, so the CPU route does all the work";
    lanes_.scheduler = std::make_unique<Scheduler>(std::move(lanes), std::move(recovery));
    return std::move(lanes_);
  }

 private:
  absl::StatusOr<backends::Choice> Select() {
    auto choice = backends::SelectDevices({config_.backend.name, config_.backend.devices});
    if (choice.ok() || !keep_going_ || absl::IsInvalidArgument(choice.status())) return choice;
    log_.Error("device", Cat(Message(choice.status()), "; the CPU route does all the work"));
    KS_ASSIGN_OR_RETURN(backends::Choice cpu, backends::SelectDevices({"cpu", {}}));
    cpu.why = Cat("after a restart in place: ", Message(choice.status()));
    return cpu;
  }

  static absl::Status Refusal(const backends::Identity& identity, const absl::Status& why) {
    return absl::UnavailableError(Cat("the ", backends::BackendName(identity.backend), " device ",
                                      identity.index, " (", identity.name,
                                      ") cannot be used: ", Message(why)));
  }

  std::unique_ptr<Lane> MakeLane(const backends::Identity& identity, uint32_t batches,
                                 Matcher* recovery) {
    LateRecorder* late = nullptr;
    if (identity.backend != BackendKind::kCpu) {
      lanes_.recorders.push_back(std::make_unique<LateRecorder>());
      late = lanes_.recorders.back().get();
    }
    megakernel::SessionOptions session = SessionOf(config_, identity);
    session.geometry.batches = batches;
    session.recorder = late;
    LaneOptions options;
    options.identity = identity;
    options.recorder = late;
    options.hang_after = session.watchdog * (batches + 1);
    const auto say = options.say = [log = &log_](const std::string& sentence) {
      log->Warning("lane", sentence);
    };
    backends::OpenOptions open{
        .recorder = late, .cache_dir = CacheDir(), .cpu_threads = config_.cpu.threads};
    return std::make_unique<Lane>(
        std::move(options), DeviceOpener(identity, open, session, &recorder_, late, say), recovery);
  }

  absl::StatusOr<std::unique_ptr<Lane>> CpuRoute() {
    const auto probe = backends::ProbeAdapters(BackendKind::kCpu);
    if (probe.adapters.empty()) {
      return absl::UnavailableError(Cat("there is no CPU route: ", probe.reason));
    }
    auto lane = MakeLane(probe.adapters.front(), kRecoveryBatches, nullptr);
    if (const absl::Status status = lane->Start(); !status.ok()) {
      return Refusal(probe.adapters.front(), status);
    }
    return lane;
  }

  void LogDevice(const Lane& lane, const absl::Status& status) const {
    const backends::Identity& identity = lane.identity();
    const LaneStatus now = lane.status();
    std::vector<config::LogField> fields = {{"backend", backends::BackendName(identity.backend)},
                                            {"device", identity.index},
                                            {"name", identity.name},
                                            {"driver", identity.driver},
                                            {"uuid", identity.uuid},
                                            {"software", identity.software},
                                            {"policy", megakernel::SessionPolicyName(now.policy)},
                                            {"policy_reason", now.policy_reason}};
    if (status.ok()) {
      log_.Info("device", "open", std::move(fields));
    } else {
      log_.Error("device", "did not open: " + Message(status), std::move(fields));
    }
  }

  const config::Config& config_;
  evidence::Recorder& recorder_;
  const config::Log& log_;
  const bool keep_going_;
  DeviceLanes lanes_;
};

}  // namespace

absl::StatusOr<DeviceLanes> StartLanes(const config::Config& config, evidence::Recorder& recorder,
                                       const config::Log& log, bool keep_going) {
  return Starter(config, recorder, log, keep_going).Start();
}

}  // namespace keysieve::scheduler
