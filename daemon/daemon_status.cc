// SPDX-License-Identifier: MIT
// What the daemon says of itself: the status call, the front page, the line of its start.
#include <unistd.h>

#include "daemon/admin/systemd.h"
#include "daemon/daemon.h"
#include "evidence/base/status.h"
#include "evidence/utf8.h"

namespace keysieve {
namespace {

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
  out->set_policy(std::string(megakernel::SessionPolicyName(lane.policy)));
  out->set_abandoned(lane.abandoned);
}

}  // namespace

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
  status->set_restart_pending(restart_.allowed() && scheduler_->any_abandoned());
  status->set_restarts(restart_.restarts());
  status->set_pid(static_cast<uint32_t>(::getpid()));
  status->set_cpu_threads(CpuThreads(config_));
}

}  // namespace keysieve
