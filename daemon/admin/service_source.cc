// SPDX-License-Identifier: MIT
// Counts become families; see service_source.h.
#include "daemon/admin/service_source.h"

namespace keysieve::admin {
namespace {

using evidence::MetricFamily;
using evidence::MetricSample;
using Labels = std::vector<std::pair<std::string, std::string>>;

MetricFamily Single(std::string_view name, double value) {
  MetricFamily family = evidence::ServiceFamily(name);
  family.samples.push_back({.value = value});
  return family;
}

MetricFamily ByLabel(std::string_view name, const std::string& label,
                     const pipeline::ScanCounters::ByLabel& values) {
  MetricFamily family = evidence::ServiceFamily(name);
  for (const auto& [key, count] : values) {
    family.samples.push_back({.labels = {{label, key}}, .value = static_cast<double>(count)});
  }
  return family;
}

}  // namespace

void ServiceSource::Collect(std::vector<MetricFamily>& families) const {
  Lanes(families);
  Scans(families);
  Rpcs(families);
}

void ServiceSource::Lanes(std::vector<MetricFamily>& families) const {
  MetricFamily state = evidence::ServiceFamily("keysieve_lane_state");
  MetricFamily slots = evidence::ServiceFamily("keysieve_ring_slots_used");
  MetricFamily queue = evidence::ServiceFamily("keysieve_queue_blobs");
  using scheduler::LaneState;
  for (const scheduler::LaneStatus& lane : scheduler_.status()) {
    const Labels device = {{"backend", std::string(backends::BackendName(lane.identity.backend))},
                           {"device", std::to_string(lane.identity.index)}};
    for (const LaneState s :
         {LaneState::kOpen, LaneState::kFailedToOpen, LaneState::kQuarantined}) {
      Labels labels = device;
      labels.emplace_back("state", std::string(scheduler::LaneStateName(s)));
      state.samples.push_back({.labels = std::move(labels), .value = lane.state == s ? 1.0 : 0.0});
    }
    slots.samples.push_back({.labels = device, .value = static_cast<double>(lane.slots_used)});
    queue.samples.push_back({.labels = device, .value = static_cast<double>(lane.queued_blobs)});
  }
  for (MetricFamily* family : {&state, &slots, &queue}) families.push_back(std::move(*family));
}

void ServiceSource::Scans(std::vector<MetricFamily>& families) const {
  const pipeline::ScanCounters::Values values = counters_.Read();
  const auto in_use = static_cast<double>(pipeline_.memory_in_use());
  families.push_back(Single("keysieve_inflight_bytes", in_use));
  families.push_back(Single("keysieve_streams", pipeline_.streams()));
  MetricFamily latency = evidence::ServiceFamily("keysieve_blob_duration_seconds");
  latency.samples.push_back({.histogram = evidence::ToSeconds(values.blob_latency)});
  families.push_back(std::move(latency));
  families.push_back(Single("keysieve_blobs_total", static_cast<double>(values.blobs)));
  families.push_back(ByLabel("keysieve_admission_rejects_total", "reason", values.rejects));
  families.push_back(ByLabel("keysieve_scans_total", "result", values.scans));
  families.push_back(ByLabel("keysieve_findings_total", "rule", values.findings));
  families.push_back(ByLabel("keysieve_gaps_total", "reason", values.gaps));
  families.push_back(ByLabel("keysieve_exclusions_total", "reason", values.exclusions));
  families.push_back(ByLabel("keysieve_route_bytes_total", "route", values.route_bytes));
  Tenants(values, families);
  Rules(families);
}

void ServiceSource::Tenants(const pipeline::ScanCounters::Values& values,
                            std::vector<MetricFamily>& families) {
  families.push_back(ByLabel("keysieve_tenant_bytes_total", "tenant", values.tenant_bytes));
  MetricFamily charged = evidence::ServiceFamily("keysieve_tenant_device_seconds_total");
  for (const auto& [key, ns] : values.tenant_device_ns) {
    charged.samples.push_back({.labels = {{"tenant", key.first}, {"backend", key.second}},
                               .value = static_cast<double>(ns) / 1e9});
  }
  families.push_back(std::move(charged));
}

void ServiceSource::Rules(std::vector<MetricFamily>& families) const {
  const pipeline::LoadedRules rules = pipeline_.rules();
  MetricFamily info = evidence::ServiceFamily("keysieve_rules_info");
  info.samples.push_back(
      {.labels = {{"name", rules.rules->name()}, {"digest", rules.rules->digest()}}, .value = 1});
  families.push_back(std::move(info));
  const std::chrono::duration<double> loaded = rules.loaded_at.time_since_epoch();
  families.push_back(Single("keysieve_rules_loaded_timestamp_seconds", loaded.count()));
}

void ServiceSource::Rpcs(std::vector<MetricFamily>& families) const {
  MetricFamily started = evidence::ServiceFamily("grpc_server_started_total");
  MetricFamily handled = evidence::ServiceFamily("grpc_server_handled_total");
  MetricFamily seconds = evidence::ServiceFamily("grpc_server_handling_seconds");
  for (const auto& [method, values] : rpcs_.Read()) {
    const Labels labels = {{"grpc_service", method.first}, {"grpc_method", method.second}};
    started.samples.push_back({.labels = labels, .value = static_cast<double>(values.started)});
    for (const auto& [code, count] : values.handled) {
      Labels with_code = labels;
      with_code.emplace_back("grpc_code", code);
      handled.samples.push_back(
          {.labels = std::move(with_code), .value = static_cast<double>(count)});
    }
    MetricSample sample{.labels = labels};
    uint64_t below = 0;
    for (size_t i = 0; i < transport::RpcCounters::kBounds.size(); ++i) {
      below += values.buckets[i];
      sample.histogram.buckets.push_back({transport::RpcCounters::kBounds[i], below});
    }
    sample.histogram.count = values.count;
    sample.histogram.sum = values.seconds;
    seconds.samples.push_back(std::move(sample));
  }
  for (MetricFamily* family : {&started, &handled, &seconds}) {
    families.push_back(std::move(*family));
  }
}

}  // namespace keysieve::admin
