// SPDX-License-Identifier: MIT
// Metrics as plain data: what any room hands to the exporter without knowing Prometheus' library.
//
//   void AdmissionMetrics::Collect(std::vector<MetricFamily>& out) const {
//     out.push_back({"keysieve_inflight_bytes", "Bytes of blob memory reserved.",
//                    MetricType::kGauge, {{.value = double(inflight_.load())}}});
//   }
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "evidence/cells.h"
#include "evidence/vocabulary.h"

namespace keysieve::evidence {

struct HistogramValue {
  struct Bucket {
    double upper_bound = 0;  // inclusive, ascending; the +Inf bucket is `count` and not listed
    uint64_t cumulative_count = 0;
  };
  std::vector<Bucket> buckets;
  uint64_t count = 0;
  double sum = 0;
};

struct MetricSample {
  std::vector<std::pair<std::string, std::string>> labels;  // name, value (UTF-8)
  double value = 0;                                         // counters and gauges
  HistogramValue histogram;                                 // histograms
};

struct MetricFamily {
  std::string name;  // whole, with its prefix and unit
  std::string help;  // one sentence
  MetricType type = MetricType::kGauge;
  std::vector<MetricSample> samples;
};

class MetricSource {
 public:
  virtual ~MetricSource() = default;
  // Appends the families as they stand. Called at each scrape, from any thread, perhaps from two at
  // once. Two sources may add samples to one family; they then agree on its type.
  virtual void Collect(std::vector<MetricFamily>& families) const = 0;
};

// A HistogramCells reading in seconds, with the project's buckets.
HistogramValue ToSeconds(const HistogramValues& values);

// A family without samples whose type and help stand in the vocabulary's service rows. An unknown
// name gives a family without a name, which the exporter refuses and counts.
MetricFamily ServiceFamily(std::string_view name);

}  // namespace keysieve::evidence
