// SPDX-License-Identifier: MIT
// The metrics every service has: the process as the kernel sees it, and what the program was built
// from. Reads /proc/self at each scrape; needs nothing else of /proc, so it works where the rest is
// hidden. A reading that fails is absent, never zero.
//
//   ProcessSource process;
//   BuildInfoSource build({.version = "0.1.0", .revision = "68a28a7", .compiler = "g++ 12.2"});
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "evidence/metric_source.h"

namespace keysieve::evidence {

class ProcessSource final : public MetricSource {
 public:
  ProcessSource();

  void Collect(std::vector<MetricFamily>& families) const override;

 private:
  // Since the Unix epoch, in seconds; worked out once, as setting the clock later moves no start.
  const std::optional<double> start_time_;
};

struct BuildInfo {
  std::string version;
  std::string revision;
  std::string compiler;
};

class BuildInfoSource final : public MetricSource {
 public:
  explicit BuildInfoSource(BuildInfo info) : info_(std::move(info)) {}

  void Collect(std::vector<MetricFamily>& families) const override;

 private:
  const BuildInfo info_;
};

}  // namespace keysieve::evidence
