// SPDX-License-Identifier: MIT
// Renders every registered source as Prometheus text, format 0.0.4. It serves nothing itself: the
// admin endpoint answers a scrape with Render(). What is malformed is left out and counted in
// keysieve_metrics_rejected_total, so that one bad name or byte never costs the whole scrape.
//
//   Exporter exporter;
//   exporter.AddSource(&recorder_source);
//   reply.set_body(exporter.Render(), std::string(kContentType));
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "evidence/base/mutex.h"
#include "evidence/metric_source.h"

namespace keysieve::evidence {

inline constexpr std::string_view kContentType = "text/plain; version=0.0.4; charset=utf-8";

class Exporter {
 public:
  // Borrowed; outlives the exporter. Any thread.
  void AddSource(const MetricSource* source);

  // Families by name, the samples of each in the order of their sources. Label values that are not
  // UTF-8 get U+FFFD for each wrong byte. Left out and counted: a family whose name, or a sample
  // whose label names, Prometheus does not allow (`name`); a family whose type differs from an
  // earlier one's of the same name (`type`); a series that is already there (`duplicate`); a value
  // that is no number, since absent says that better (`value`). Any thread.
  std::string Render();

 private:
  enum Reason { kName, kType, kDuplicate, kValue, kReasons };

  std::vector<MetricFamily> Gather() const;
  std::vector<MetricFamily> Clean(std::vector<MetricFamily> families);
  bool Admit(MetricSample& sample, MetricType type);
  MetricFamily Rejections() const;

  mutable Mutex mutex_;
  std::vector<const MetricSource*> sources_ ABSL_GUARDED_BY(mutex_);
  std::array<std::atomic<uint64_t>, kReasons> rejected_{};
};

}  // namespace keysieve::evidence
