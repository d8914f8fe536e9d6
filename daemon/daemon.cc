// SPDX-License-Identifier: MIT
// Up and down; see daemon.h.
#include "daemon/daemon.h"

#include <malloc.h>
#include <unistd.h>

#include "daemon/admin/systemd.h"
#include "daemon/config/places.h"
#include "evidence/base/status.h"
#include "megakernel/table.h"

namespace keysieve {
namespace {

constexpr std::chrono::seconds kDrainWait(30);
constexpr std::chrono::milliseconds kTick(200);
constexpr int kTrimAfterTicks = 10;  // of quiet, then freed memory goes back to the system
constexpr std::chrono::seconds kLastCalls(1);
constexpr size_t kRecentLines = 32;

detect::RuleOptions RuleOptionsOf(const config::Config& config) {
  detect::RuleOptions options;
  for (const config::FingerprintKey& key : config.fingerprint.keys) {
    options.fingerprint.keys.push_back({key.id, key.secret});
  }
  options.default_rules = config::FindDefaultRules();
  return options;
}

pipeline::PipelineOptions PipelineOptionsOf(const config::Config& config) {
  pipeline::PipelineOptions options;
  options.blob_limit = config.limits.blob_bytes;
  options.memory_limit = config.limits.memory_bytes;
  options.max_streams = config.limits.streams;
  options.idle = std::chrono::seconds(config.limits.idle_s);
  options.memory_wait = options.idle;
  options.compile = megakernel::CompileTable;
  options.decode_depth = config.decode.depth;
  options.inline_allow = config.policy.inline_allow;
  options.take_ignores = config.policy.ignores;
  options.caller_rules = static_cast<pipeline::CallerRules>(config.policy.rules);
  options.load_rules = [rules = RuleOptionsOf(config), own = config.rules.file](
                           const std::string& toml, bool extend_only) {
    detect::RuleOptions from_wire = rules;
    from_wire.may_extend_files = false;
    if (extend_only) from_wire.must_extend = own;
    return detect::RuleSet::LoadText(toml, "request", from_wire);
  };
  return options;
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

uint32_t CpuThreads(const config::Config& config) {
  return config.cpu.threads != 0 ? config.cpu.threads
                                 : std::max(std::thread::hardware_concurrency(), 1u);
}

Daemon::Daemon(const config::Config& config, const config::Log& log, Surroundings surroundings)
    : config_(config),
      recent_(kRecentLines),
      log_(recent_.Through(log)),
      surroundings_(std::move(surroundings)),
      restart_(config.recovery.restart == config::RestartPolicy::kExec,
               std::chrono::seconds(config.recovery.max_wait_s),
               surroundings_.handover ? surroundings_.handover->restarts : 0, began_),
      recorder_({}),
      counters_(pipeline::ScanCounters::Limits{.tenants = config.metrics.tenants}) {}

absl::StatusOr<std::unique_ptr<Daemon>> Daemon::Start(const config::Config& config,
                                                      const config::Log& outer,
                                                      Surroundings surroundings) {
  std::unique_ptr<Daemon> daemon(new Daemon(config, outer, std::move(surroundings)));
  const config::Log& log = daemon->log_;
  KS_ASSIGN_OR_RETURN(pipeline::LoadedRules rules, LoadRules(config));
  for (const std::string& warning : rules.rules->warnings()) log.Warning("rules", warning);
  if (config.fingerprint.keys.empty()) {
    log.Warning("fingerprint",
                "fingerprint.keys is not set: fingerprints use the published constant");
  }
  const auto& left = daemon->surroundings_.handover;
  if (left) log.Info("restart", left->why, {{"restarts", left->restarts}});
  KS_ASSIGN_OR_RETURN(scheduler::DeviceLanes lanes,
                      scheduler::StartLanes(config, daemon->recorder_, log, left.has_value()));
  daemon->late_recorders_ = std::move(lanes.recorders);
  daemon->scheduler_ = std::move(lanes.scheduler);
  daemon->route_reason_ = std::move(lanes.why);
  daemon->workers_ = std::make_unique<scheduler::WorkerPool>(CpuThreads(config));
  pipeline::PipelineOptions options = PipelineOptionsOf(config);
  options.recorder = &daemon->recorder_;
  daemon->pipeline_ = std::make_unique<pipeline::ScanPipeline>(
      std::move(options), *daemon->scheduler_, *daemon->workers_, daemon->counters_, log,
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
  KS_RETURN_IF_ERROR(ServePages());
  std::vector<transport::HandedSocket> handed;
  if (surroundings_.handover) handed = std::move(surroundings_.handover->sockets);
  KS_ASSIGN_OR_RETURN(
      server_, transport::Server::Start(listen, *pipeline_, Admin(), rpcs_, std::move(handed)));
  Tell();
  housekeeper_ = std::thread([this] { Housekeeping(); });
  LogStart();
  return absl::OkStatus();
}

absl::Status Daemon::ServePages() {
  if (config_.server.admin_listen.empty()) return absl::OkStatus();
  // After a restart in place a port of 0 stays the one that Prometheus knows.
  const bool kept = surroundings_.handover && !surroundings_.handover->admin_address.empty();
  KS_ASSIGN_OR_RETURN(config::Address address,
                      config::ParseAddress(kept ? surroundings_.handover->admin_address
                                                : config_.server.admin_listen));
  KS_ASSIGN_OR_RETURN(http_, admin::HttpEndpoint::Start(
                                 address, {.metrics = [this] { return exporter_.Render(); },
                                           .ready = [this] { return Ready(); },
                                           .front = [this] { return admin::StatusPage(View()); },
                                           .live = [this] { return admin::StatusMain(View()); },
                                           .style = admin::StatusStyle(),
                                           .script = admin::StatusScript()}));
  return absl::OkStatus();
}

transport::AdminHandlers Daemon::Admin() {
  using Done = transport::AdminHandlers::Done;
  transport::AdminHandlers handlers;
  handlers.read_status = [this](v1::Status* status) { ReadStatus(status); };
  handlers.quarantine = [this](const std::string& device, const std::string& reason, Done done) {
    log_.Warning("quarantine", reason, {{"device", device}});
    scheduler_->Quarantine(device, reason, [this, done = std::move(done)](absl::Status status) {
      Tell();
      done(std::move(status));
    });
  };
  handlers.resume = [this](const std::string& device, Done done) {
    log_.Info("resume", "an operator asks for the device", {{"device", device}});
    scheduler_->Resume(device, [this, done = std::move(done)](absl::Status status) {
      // A device that was given up comes back with a new program in this process.
      const bool by_restart = absl::IsFailedPrecondition(status) && restart_.allowed();
      if (by_restart) restart_.Hurry();
      Tell();
      done(by_restart ? absl::OkStatus() : std::move(status));
    });
  };
  handlers.drain = [this](const Done& done) {
    log_.Info("drain", "an operator asks for it");
    pipeline_->Drain();
    done(absl::OkStatus());
    surroundings_.want_drain();
  };
  return handlers;
}

// What the health service says.
void Daemon::Tell() {
  server_->SetServing(Ready());
  server_->SetAccelerated(!scheduler_->any_accelerator_down());
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
  AwaitStreams(std::chrono::steady_clock::now() + kDrainWait, hurry);
  const uint32_t left = pipeline_->streams();
  if (left > 0) log_.Warning("drain", "scans are cut short", {{"streams", left}});
  pipeline_->Abort("the daemon is shutting down");
  // A health watch would hold the server to any deadline, so this one is short.
  server_->Shutdown(std::chrono::system_clock::now() + kLastCalls);
  scheduler_->Stop();
  log_.Info("stop", "stopped");
}

void Daemon::AwaitStreams(std::chrono::steady_clock::time_point deadline,
                          const std::function<bool()>& hurry) {
  while (pipeline_->streams() > 0 && std::chrono::steady_clock::now() < deadline && !hurry()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

void Daemon::PostponeRestart(const std::string& why) {
  log_.Error("restart", "postponed: " + why);
  restart_.Postpone(std::chrono::steady_clock::now());
  restart_due_.store(false);
}

transport::Handover Daemon::LeaveForRestart() {
  transport::Handover left;
  left.restarts = restart_.next_restarts(std::chrono::steady_clock::now());
  left.why = "runs anew in its own place, to use a device again";
  if (http_ != nullptr) left.admin_address = http_->address();
  const uint32_t streams = pipeline_->streams();
  log_.Warning("restart", "leaving for a new program in this process",
               {{"streams", streams}, {"restarts", left.restarts}});
  admin::NotifyStatus("running anew to use a device again");
  pipeline_->Drain();
  left.sockets = server_->HandOver();
  // Those that came a moment ago have their time; those that were waited for have had it.
  const auto last =
      streams > 0 ? std::chrono::seconds(0) : std::chrono::seconds(config_.recovery.max_wait_s);
  AwaitStreams(std::chrono::steady_clock::now() + last, [] { return false; });
  pipeline_->Abort("the daemon restarts to use a device again; nothing was lost that was answered");
  server_->Shutdown(std::chrono::system_clock::now() + kLastCalls);
  scheduler_->Stop();
  http_.reset();
  return left;
}

bool Daemon::Ready() const { return scheduler_->any_open() && !pipeline_->draining(); }

void Daemon::LookAfterLanes() {
  scheduler_->Supervise();
  Tell();
  if (pipeline_->draining() || restart_due_.load()) return;
  const auto verdict = restart_.Look(std::chrono::steady_clock::now(), scheduler_->any_abandoned(),
                                     pipeline_->streams());
  if (verdict != RestartPlan::Verdict::kNow) return;
  restart_due_.store(true);
  surroundings_.want_restart();
}

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
    TakeHistory();
    LogLosses();
    LookAfterLanes();
    // The allocator keeps freed blobs for the next ones; a daemon at rest gives them back.
    quiet = pipeline_->streams() > 0 ? 0 : quiet + 1;
    if (quiet == kTrimAfterTicks) malloc_trim(0);
  }
}

}  // namespace keysieve
