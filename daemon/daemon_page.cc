// SPDX-License-Identifier: MIT
// What the status page shows and its history; what the recorder could not keep.
#include <algorithm>

#include "daemon/daemon.h"
#include "evidence/base/status.h"

namespace keysieve {
namespace {

constexpr std::chrono::minutes kLossesPeriod(1);

}  // namespace

admin::StatusView Daemon::View() const {
  const pipeline::LoadedRules rules = pipeline_->rules();
  const std::chrono::duration<double> up = std::chrono::steady_clock::now() - began_;
  std::vector<evidence::DeviceSnapshot> devices = recorder_.Snapshot();
  std::erase_if(devices, [](const evidence::DeviceSnapshot& d) { return !d.completed; });
  return {.version = KEYSIEVE_VERSION,
          .uptime_seconds = up.count(),
          .ready = Ready(),
          .draining = pipeline_->draining(),
          .route_reason = route_reason_,
          .rules = Cat(rules.rules->name(), ", ", rules.rules->rules().size(), " rules, digest ",
                       rules.rules->digest().substr(0, 12)),
          .rules_loaded_at = rules.loaded_at,
          .now = std::chrono::system_clock::now(),
          .streams = pipeline_->streams(),
          .stream_limit = config_.limits.streams,
          .memory_in_use = pipeline_->memory_in_use(),
          .memory_limit = config_.limits.memory_bytes,
          .ring_slots = config_.session.slots,
          .lanes = scheduler_->status(),
          .devices = std::move(devices),
          .counts = counters_.Read(),
          .history = history_.Read(),
          .recent = recent_.Read()};
}

// A point of the status page's charts.
void Daemon::TakeHistory() {
  const auto now = std::chrono::steady_clock::now();
  if (!history_.Due(now)) return;
  const pipeline::ScanCounters::Values counts = counters_.Read();
  admin::Totals totals{.blobs = counts.blobs,
                       .latency = counts.blob_latency,
                       .inflight_bytes = pipeline_->memory_in_use()};
  for (const auto& [route, bytes] : counts.route_bytes) totals.bytes += bytes;
  for (const scheduler::LaneStatus& lane : scheduler_->status()) {
    totals.ring_used_ratio = std::max(totals.ring_used_ratio,
                                      static_cast<double>(lane.slots_used) / config_.session.slots);
  }
  history_.Take(now, totals);
}

// What the bounded once-set could not keep, with the running count; once a minute at most.
void Daemon::LogLosses() {
  const uint64_t losses = recorder_.once_losses();
  const auto now = std::chrono::steady_clock::now();
  if (losses == losses_said_ || now - losses_said_at_ < kLossesPeriod) return;
  log_.Warning("evidence", "identities or capability gaps did not fit and were not recorded",
               {{"losses", losses}});
  losses_said_ = losses;
  losses_said_at_ = now;
}

}  // namespace keysieve
