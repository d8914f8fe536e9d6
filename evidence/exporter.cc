// SPDX-License-Identifier: MIT
// Gathers, cleans, converts, serialises. The only file that knows prometheus-cpp.
#include "evidence/exporter.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "evidence/utf8.h"

namespace keysieve::evidence {
namespace {

constexpr std::string_view kRejections = "keysieve_metrics_rejected_total";
constexpr std::string_view kReasonNames[] = {"name", "type", "duplicate", "value"};

bool IsName(std::string_view name, bool colons) {
  const auto letter = [colons](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (colons && c == ':');
  };
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  return !name.empty() && letter(name[0]) &&
         std::all_of(name.begin(), name.end(), [&](char c) { return letter(c) || digit(c); });
}

// Prometheus keeps names that begin with two underscores, and gives `le` to buckets itself.
bool LabelsAreAllowed(const MetricSample& sample) {
  std::set<std::string_view> seen;
  for (const auto& [name, value] : sample.labels) {
    if (!IsName(name, false) || name.starts_with("__") || name == "le") return false;
    if (!seen.insert(name).second) return false;
  }
  return true;
}

bool HistogramIsSound(const HistogramValue& histogram) {
  uint64_t cumulative = 0;
  double bound = -INFINITY;
  for (const HistogramValue::Bucket& bucket : histogram.buckets) {
    if (!std::isfinite(bucket.upper_bound) || bucket.upper_bound <= bound) return false;
    if (bucket.cumulative_count < cumulative) return false;
    bound = bucket.upper_bound;
    cumulative = bucket.cumulative_count;
  }
  return histogram.count >= cumulative && !std::isnan(histogram.sum);
}

// The text format knows \\ and \n in help texts; the serialiser writes them as they come.
std::string HelpText(std::string_view help) {
  std::string text;
  for (char c : ValidUtf8(help)) {
    if (c == '\\') {
      text += "\\\\";
    } else if (c == '\n') {
      text += "\\n";
    } else {
      text += c;
    }
  }
  return text;
}

prometheus::MetricType TypeOf(MetricType type) {
  switch (type) {
    case MetricType::kCounter:
      return prometheus::MetricType::Counter;
    case MetricType::kGauge:
      return prometheus::MetricType::Gauge;
    case MetricType::kHistogram:
      return prometheus::MetricType::Histogram;
  }
  return prometheus::MetricType::Untyped;
}

prometheus::ClientMetric Convert(MetricType type, MetricSample sample) {
  prometheus::ClientMetric metric;
  for (auto& [name, value] : sample.labels) {
    metric.label.push_back({std::move(name), std::move(value)});
  }
  if (type == MetricType::kCounter) metric.counter.value = sample.value;
  if (type == MetricType::kGauge) metric.gauge.value = sample.value;
  if (type == MetricType::kHistogram) {
    metric.histogram.sample_count = sample.histogram.count;
    metric.histogram.sample_sum = sample.histogram.sum;
    for (const HistogramValue::Bucket& bucket : sample.histogram.buckets) {
      metric.histogram.bucket.push_back({bucket.cumulative_count, bucket.upper_bound});
    }
    metric.histogram.bucket.push_back({sample.histogram.count, INFINITY});
  }
  return metric;
}

prometheus::MetricFamily Convert(MetricFamily family) {
  prometheus::MetricFamily out;
  out.name = std::move(family.name);
  out.help = HelpText(family.help);
  out.type = TypeOf(family.type);
  for (MetricSample& sample : family.samples) {
    out.metric.push_back(Convert(family.type, std::move(sample)));
  }
  return out;
}

}  // namespace

void Exporter::AddSource(const MetricSource* source) {
  MutexLock lock(mutex_);
  sources_.push_back(source);
}

std::string Exporter::Render() {
  std::vector<MetricFamily> families = Clean(Gather());
  families.push_back(Rejections());
  std::vector<prometheus::MetricFamily> converted;
  for (MetricFamily& family : families) converted.push_back(Convert(std::move(family)));
  return prometheus::TextSerializer().Serialize(converted);
}

std::vector<MetricFamily> Exporter::Gather() const {
  std::vector<const MetricSource*> sources;
  {
    MutexLock lock(mutex_);
    sources = sources_;
  }
  std::vector<MetricFamily> families;
  for (const MetricSource* source : sources) source->Collect(families);
  return families;
}

std::vector<MetricFamily> Exporter::Clean(std::vector<MetricFamily> families) {
  std::map<std::string, MetricFamily> by_name;
  std::map<std::string, std::set<std::vector<std::pair<std::string, std::string>>>> series;
  for (MetricFamily& family : families) {
    if (!IsName(family.name, true)) {
      ++rejected_[kName];
      continue;
    }
    if (family.name == kRejections) {  // the exporter's own
      ++rejected_[kDuplicate];
      continue;
    }
    const auto [place, is_new] =
        by_name.try_emplace(family.name, MetricFamily{family.name, family.help, family.type, {}});
    if (place->second.type != family.type) {
      ++rejected_[kType];
      continue;
    }
    for (MetricSample& sample : family.samples) {
      if (!Admit(sample, family.type)) continue;
      auto labels = sample.labels;
      std::sort(labels.begin(), labels.end());
      if (!series[family.name].insert(std::move(labels)).second) {
        ++rejected_[kDuplicate];
        continue;
      }
      place->second.samples.push_back(std::move(sample));
    }
  }
  std::vector<MetricFamily> clean;
  for (auto& [name, family] : by_name) {
    if (!family.samples.empty()) clean.push_back(std::move(family));
  }
  return clean;
}

bool Exporter::Admit(MetricSample& sample, MetricType type) {
  if (!LabelsAreAllowed(sample)) {
    ++rejected_[kName];
    return false;
  }
  if (type == MetricType::kHistogram ? !HistogramIsSound(sample.histogram)
                                     : std::isnan(sample.value)) {
    ++rejected_[kValue];
    return false;
  }
  for (auto& [name, value] : sample.labels) value = ValidUtf8(value);
  return true;
}

MetricFamily Exporter::Rejections() const {
  MetricFamily family = ServiceFamily(kRejections);
  for (std::size_t i = 0; i < kReasons; ++i) {
    family.samples.push_back({.labels = {{"reason", std::string(kReasonNames[i])}},
                              .value = static_cast<double>(rejected_[i].load())});
  }
  return family;
}

}  // namespace keysieve::evidence
