// SPDX-License-Identifier: MIT
// Up and down; see daemon.h.
#include "daemon/daemon.h"

#include <malloc.h>
#include <unistd.h>

#include "daemon/admin/systemd.h"
#include "daemon/config/places.h"
#include "evidence/base/status.h"
#include "evidence/utf8.h"
#include "megakernel/table.h"

namespace keysieve {
namespace {

constexpr std::chrono::seconds kDrainWait(30);
constexpr std::chrono::milliseconds kTick(200);
constexpr int kTrimAfterTicks = 10;  // of quiet, then freed memory goes back to the system
constexpr std::chrono::seconds kLastCalls(1);

detect::RuleOptions RuleOptionsOf(const config::Config& config) {
  detect::RuleOptions options;
  for (const config::FingerprintKey& key : config.fingerprint.keys) {
    options.fingerprint.keys.push_back({key.id, key.secret});
  }
  options.default_rules = config::FindDefaultRules();
  return options;
}

uint32_t ThreadsOf(const config::Config& config) {
  return config.cpu.threads != 0 ? config.cpu.threads
                                 : std::max(std::thread::hardware_concurrency(), 1u);
}

pipeline::PipelineOptions PipelineOptionsOf(const config::Config& config) {
  pipeline::PipelineOptions options;
  options.blob_limit = config.limits.blob_bytes;
  options.memory_limit = config.limits.memory_bytes;
  options.max_streams = config.limits.streams;
  options.idle = std::chrono::seconds(config.limits.idle_s);
  options.memory_wait = options.idle;
  options.compile = megakernel::CompileTable;
  options.load_rules = [rules = RuleOptionsOf(config)](const std::string& toml) {
    detect::RuleOptions from_wire = rules;
    from_wire.may_extend_files = false;
    return detect::RuleSet::LoadText(toml, "request", from_wire);
  };
  return options;
}

v1::DeviceStatus::State ToProto(scheduler::LaneState state) {
  switch (state) {
    case scheduler::LaneState::kOpen:
      return v1::DeviceStatus::OPEN;
    case scheduler::LaneState::kFailedToOpen:
      return v1::DeviceStatus::FAILED_TO_OPEN;
    case scheduler::LaneState::kQuarantined:
      return v1::DeviceStatus::QUARANTINED;
  }
  return v1::DeviceStatus::STATE_UNSPECIFIED;
}

void Fill(const scheduler::LaneStatus& lane, v1::DeviceStatus* out) {
  const backends::Identity& id = lane.identity;
  out->set_backend(std::string(backends::BackendName(id.backend)));
  out->set_index(static_cast<uint32_t>(id.index));
  out->set_name(evidence::ValidUtf8(id.name));
  out->set_driver(evidence::ValidUtf8(id.driver));
  out->set_uuid(id.uuid);
  out->set_pci_address(id.pci_address);
  out->set_software(id.software);
  out->set_state(ToProto(lane.state));
  out->set_state_reason(evidence::ValidUtf8(lane.reason));
  out->set_resident_bytes(lane.resident_bytes);
  out->set_batches_in_flight(lane.batches_in_flight);
  out->set_queued_blobs(lane.queued_blobs);
  out->set_policy("epoch");
}

}  // namespace

absl::StatusOr<pipeline::LoadedRules> LoadRules(const config::Config& config) {
  pipeline::LoadedRules loaded{.is_default = true};
  KS_ASSIGN_OR_RETURN(loaded.rules,
                      detect::RuleSet::LoadFile(config.rules.file, RuleOptionsOf(config)));
  if (!loaded.rules->literals().empty()) {
    KS_ASSIGN_OR_RETURN(auto table, megakernel::CompileTable(loaded.rules->literals()));
    loaded.table = std::make_shared<const megakernel::Table>(std::move(table));
  }
  return loaded;
}

Daemon::Daemon(const config::Config& config, const config::Log& log)
    : config_(config), log_(log), recorder_({}) {}

absl::StatusOr<std::unique_ptr<Daemon>> Daemon::Start(const config::Config& config,
                                                      const config::Log& log) {
  std::unique_ptr<Daemon> daemon(new Daemon(config, log));
  KS_ASSIGN_OR_RETURN(pipeline::LoadedRules rules, LoadRules(config));
  for (const std::string& warning : rules.rules->warnings()) log.Warning("rules", warning);
  if (config.fingerprint.keys.empty()) {
    log.Warning("fingerprint",
                "fingerprint.keys is not set: fingerprints use the published constant");
  }
  if (config.recovery.restart == config::RestartPolicy::kExec) {
    log.Warning("recovery",
                "recovery.restart = exec is not offered by this build; a quarantined "
                "device stays so until the daemon is restarted");
  }
  KS_ASSIGN_OR_RETURN(scheduler::DeviceLanes lanes,
                      scheduler::StartLanes(config, daemon->recorder_, log));
  daemon->late_recorders_ = std::move(lanes.recorders);
  daemon->scheduler_ = std::move(lanes.scheduler);
  daemon->route_reason_ = std::move(lanes.why);
  daemon->workers_ = std::make_unique<scheduler::WorkerPool>(ThreadsOf(config));
  daemon->pipeline_ = std::make_unique<pipeline::ScanPipeline>(
      PipelineOptionsOf(config), *daemon->scheduler_, *daemon->workers_, daemon->counters_, log,
      std::move(rules));
  KS_RETURN_IF_ERROR(daemon->Serve());
  return daemon;
}

absl::Status Daemon::Serve() {
  std::vector<config::Address> listen;
  for (const std::string& text : config_.server.listen) {
    KS_ASSIGN_OR_RETURN(config::Address address, config::ParseAddress(text));
    listen.push_back(std::move(address));
  }
  build_source_ = std::make_unique<evidence::BuildInfoSource>(
      evidence::BuildInfo{KEYSIEVE_VERSION, KEYSIEVE_REVISION, Cat("g++ ", __VERSION__)});
  service_source_ =
      std::make_unique<admin::ServiceSource>(*pipeline_, counters_, *scheduler_, rpcs_);
  for (const evidence::MetricSource* source :
       {static_cast<const evidence::MetricSource*>(service_source_.get()),
        static_cast<const evidence::MetricSource*>(&recorder_source_),
        static_cast<const evidence::MetricSource*>(&process_source_),
        static_cast<const evidence::MetricSource*>(build_source_.get())}) {
    exporter_.AddSource(source);
  }
  if (!config_.server.admin_listen.empty()) {
    KS_ASSIGN_OR_RETURN(config::Address address, config::ParseAddress(config_.server.admin_listen));
    KS_ASSIGN_OR_RETURN(
        http_, admin::HttpEndpoint::Start(
                   address, {[this] { return exporter_.Render(); }, [this] { return Ready(); },
                             [this] { return FrontPage(); }}));
  }
  KS_ASSIGN_OR_RETURN(server_,
                      transport::Server::Start(
                          listen, *pipeline_, [this](v1::Status* s) { ReadStatus(s); }, rpcs_));
  server_->SetServing(true);
  housekeeper_ = std::thread([this] { Housekeeping(); });
  LogStart();
  return absl::OkStatus();
}

void Daemon::LogStart() const {
  const pipeline::LoadedRules rules = pipeline_->rules();
  std::string listen;
  for (const std::string& address : server_->addresses()) {
    listen += (listen.empty() ? "" : " ") + address;
  }
  std::string devices;
  for (const scheduler::LaneStatus& lane : scheduler_->status()) {
    devices += Cat(devices.empty() ? "" : ", ", backends::BackendName(lane.identity.backend), ":",
                   lane.identity.index, " ", lane.identity.name, " (",
                   scheduler::LaneStateName(lane.state), ")");
  }
  log_.Info("start", "serving",
            {{"version", KEYSIEVE_VERSION},
             {"pid", ::getpid()},
             {"listen", listen},
             {"admin", http_ == nullptr ? "off" : http_->address()},
             {"devices", devices},
             {"why", route_reason_},
             {"rules", rules.rules->name()},
             {"rules_digest", rules.rules->digest()},
             {"rule_count", rules.rules->rules().size()},
             {"literals", rules.rules->literals().size()}});
  admin::NotifyReady(Cat("serving on ", listen, "; ", devices));
}

Daemon::~Daemon() {
  if (server_ != nullptr) {
    pipeline_->Abort("the daemon is shutting down");
    server_->Shutdown(std::chrono::system_clock::now() + kLastCalls);
  }
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    wake_.NotifyAll();
  }
  if (housekeeper_.joinable()) housekeeper_.join();
}

void Daemon::Drain(const std::function<bool()>& hurry) {
  admin::NotifyStopping();
  log_.Info("drain", "no new scans; waiting for those under way",
            {{"streams", pipeline_->streams()}});
  pipeline_->Drain();
  server_->SetServing(false);
  const auto deadline = std::chrono::steady_clock::now() + kDrainWait;
  while (pipeline_->streams() > 0 && std::chrono::steady_clock::now() < deadline && !hurry()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  const uint32_t left = pipeline_->streams();
  if (left > 0) log_.Warning("drain", "scans are cut short", {{"streams", left}});
  pipeline_->Abort("the daemon is shutting down");
  // A health watch would hold the server to any deadline, so this one is short.
  server_->Shutdown(std::chrono::system_clock::now() + kLastCalls);
  scheduler_->Stop();
  log_.Info("stop", "stopped");
}

bool Daemon::Ready() const { return scheduler_->any_open() && !pipeline_->draining(); }

void Daemon::Housekeeping() {
  int quiet = kTrimAfterTicks + 1;
  for (;;) {
    {
      MutexLock lock(mutex_);
      const auto until = std::chrono::steady_clock::now() + kTick;
      while (!stopping_ && wake_.WaitUntil(mutex_, until)) {
      }
      if (stopping_) return;
    }
    pipeline_->Tick();
    // The allocator keeps freed blobs for the next ones; a daemon at rest gives them back.
    quiet = pipeline_->streams() > 0 ? 0 : quiet + 1;
    if (quiet == kTrimAfterTicks) malloc_trim(0);
  }
}

void Daemon::ReadStatus(v1::Status* status) const {
  const std::chrono::duration<double> up = std::chrono::steady_clock::now() - began_;
  status->set_version(KEYSIEVE_VERSION);
  status->set_revision(KEYSIEVE_REVISION);
  status->set_uptime_seconds(up.count());
  status->set_ready(Ready());
  status->set_draining(pipeline_->draining());
  for (const scheduler::LaneStatus& lane : scheduler_->status()) Fill(lane, status->add_devices());
  status->set_route_reason(evidence::ValidUtf8(route_reason_));
  const pipeline::LoadedRules rules = pipeline_->rules();
  v1::RuleSetStatus* out = status->mutable_rules();
  out->set_name(evidence::ValidUtf8(rules.rules->name()));
  out->set_digest(rules.rules->digest());
  out->set_rules(static_cast<uint32_t>(rules.rules->rules().size()));
  out->set_literals(static_cast<uint32_t>(rules.rules->literals().size()));
  out->set_warnings(static_cast<uint32_t>(rules.rules->warnings().size()));
  status->set_memory_limit_bytes(config_.limits.memory_bytes);
  status->set_memory_in_use_bytes(pipeline_->memory_in_use());
  status->set_streams(pipeline_->streams());
  status->set_stream_limit(config_.limits.streams);
  if (http_ != nullptr) status->set_admin_address(http_->address());
  if (server_ != nullptr) {
    for (const std::string& address : server_->addresses()) status->add_listen(address);
  }
  status->set_pid(static_cast<uint32_t>(::getpid()));
  status->set_cpu_threads(ThreadsOf(config_));
}

std::string Daemon::FrontPage() const {
  std::string page = Cat("keysieved ", KEYSIEVE_VERSION, "\n\n/metrics\n/-/healthy\n/-/ready\n\n",
                         Ready() ? "ready" : "not ready", ", ", pipeline_->streams(),
                         " streams open\nroute: ", route_reason_, "\n");
  for (const scheduler::LaneStatus& lane : scheduler_->status()) {
    page += Cat("device: ", backends::BackendName(lane.identity.backend), ":", lane.identity.index,
                " ", lane.identity.name, ": ", scheduler::LaneStateName(lane.state),
                lane.reason.empty() ? "" : ", " + lane.reason, "\n");
  }
  const pipeline::LoadedRules rules = pipeline_->rules();
  page += Cat("rules: ", rules.rules->name(), ", ", rules.rules->rules().size(), " rules, digest ",
              rules.rules->digest(), "\n");
  return page;
}

}  // namespace keysieve
