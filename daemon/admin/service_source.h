// SPDX-License-Identifier: MIT
// The service's own metric families, read at each scrape from what the pipeline, the lanes and the
// transport count. Names and help texts stand in evidence/vocabulary.inl.
#pragma once

#include "daemon/scan_pipeline.h"
#include "daemon/scheduler/scheduler.h"
#include "daemon/transport/rpc_counters.h"
#include "evidence/metric_source.h"

namespace keysieve::admin {

class ServiceSource : public evidence::MetricSource {
 public:
  // Borrowed; all outlive the source.
  ServiceSource(const pipeline::ScanPipeline& pipeline, const pipeline::ScanCounters& counters,
                const scheduler::Scheduler& scheduler, const transport::RpcCounters& rpcs)
      : pipeline_(pipeline), counters_(counters), scheduler_(scheduler), rpcs_(rpcs) {}

  void Collect(std::vector<evidence::MetricFamily>& families) const override;

 private:
  void Lanes(std::vector<evidence::MetricFamily>& families) const;
  void Scans(std::vector<evidence::MetricFamily>& families) const;
  static void Tenants(const pipeline::ScanCounters::Values& values,
                      std::vector<evidence::MetricFamily>& families);
  void Rules(std::vector<evidence::MetricFamily>& families) const;
  void Rpcs(std::vector<evidence::MetricFamily>& families) const;

  const pipeline::ScanPipeline& pipeline_;
  const pipeline::ScanCounters& counters_;
  const scheduler::Scheduler& scheduler_;
  const transport::RpcCounters& rpcs_;
};

}  // namespace keysieve::admin
