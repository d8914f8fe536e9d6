// SPDX-License-Identifier: MIT
// One family a row, one sample a device and label value. Nanoseconds become seconds here.
#include "evidence/recorder_source.h"

#include <optional>
#include <string>
#include <utility>

#include "evidence/base/status.h"

namespace keysieve::evidence {
namespace {

constexpr double kNsPerSecond = 1e9;

using Labels = std::vector<std::pair<std::string, std::string>>;
using Snapshots = std::vector<DeviceSnapshot>;

Labels LabelsOf(const DeviceSnapshot& device) {
  return {{"backend", std::string(AcceleratorName(device.accelerator))},
          {"device", std::to_string(device.index)}};
}

Labels LabelsOf(const DeviceSnapshot& device, LabelKind label, std::size_t i) {
  Labels labels = LabelsOf(device);
  if (label != LabelKind::kNone) {
    labels.emplace_back(std::string(LabelName(label)), std::string(LabelValues(label)[i]));
  }
  return labels;
}

MetricFamily Family(std::string_view name, std::string_view help, MetricType type) {
  return {Cat(kPrefix, name), std::string(help), type, {}};
}

void Keep(MetricFamily family, std::vector<MetricFamily>& families) {
  if (!family.samples.empty()) families.push_back(std::move(family));
}

void CollectCounters(const Snapshots& devices, std::vector<MetricFamily>& families) {
  for (std::size_t c = 0; c < kCounters; ++c) {
    const CounterRow& row = kCounterRows[c];
    MetricFamily family = Family(row.name, row.help, MetricType::kCounter);
    for (const DeviceSnapshot& device : devices) {
      for (std::size_t i = 0; i < LabelCount(row.label); ++i) {
        const auto n = static_cast<double>(device.counters.Of(static_cast<Counter>(c), i));
        family.samples.push_back({.labels = LabelsOf(device, row.label, i),
                                  .value = row.unit == Unit::kNanoseconds ? n / kNsPerSecond : n});
      }
    }
    Keep(std::move(family), families);
  }
}

void CollectDistributions(const Snapshots& devices, std::vector<MetricFamily>& families) {
  for (std::size_t d = 0; d < kDistributions; ++d) {
    const DistributionRow& row = kDistributionRows[d];
    MetricFamily family = Family(row.name, row.help, MetricType::kHistogram);
    for (const DeviceSnapshot& device : devices) {
      family.samples.push_back(
          {.labels = LabelsOf(device), .histogram = ToSeconds(device.distributions[d])});
    }
    Keep(std::move(family), families);
  }
}

std::optional<double> Reading(const DeviceSnapshot& device, Gauge gauge, std::size_t i) {
  switch (gauge) {
    case Gauge::kResidentBytes:
      return static_cast<double>(device.resident_bytes);
    case Gauge::kPeakResidentBytes:
      return static_cast<double>(device.peak_resident_bytes);
    case Gauge::kOccupancyRatio:
      return device.occupancy_ratio;
    case Gauge::kUtilizationRatio:
      return device.utilization_ratio;
    case Gauge::kCapabilitySupported:
      if (!device.completed) return std::nullopt;
      return device.capabilities.Has(static_cast<Capability>(kCapabilityRows[i].number)) ? 1 : 0;
  }
  return std::nullopt;
}

void CollectGauges(const Snapshots& devices, std::vector<MetricFamily>& families) {
  for (std::size_t g = 0; g < kGauges; ++g) {
    const GaugeRow& row = kGaugeRows[g];
    MetricFamily family = Family(row.name, row.help, MetricType::kGauge);
    for (const DeviceSnapshot& device : devices) {
      for (std::size_t i = 0; i < LabelCount(row.label); ++i) {
        const std::optional<double> reading = Reading(device, static_cast<Gauge>(g), i);
        if (!reading) continue;
        family.samples.push_back({.labels = LabelsOf(device, row.label, i), .value = *reading});
      }
    }
    Keep(std::move(family), families);
  }
}

std::optional<uint32_t> Reading(const DeviceSnapshot& device, Annotation annotation) {
  if (annotation == Annotation::kRetryAttempt) return device.retry_attempt;
  if (!device.completed) return std::nullopt;
  switch (annotation) {
    case Annotation::kBackendKind:
      return static_cast<uint32_t>(device.accelerator);
    case Annotation::kPciVendor:
      return device.identity.pci_vendor;
    case Annotation::kPciDevice:
      return device.identity.pci_device;
    case Annotation::kRetryAttempt:
      break;
  }
  return std::nullopt;
}

void CollectAnnotations(const Snapshots& devices, std::vector<MetricFamily>& families) {
  for (std::size_t a = 0; a < kAnnotations; ++a) {
    const AnnotationRow& row = kAnnotationRows[a];
    MetricFamily family = Family(row.name, row.help, MetricType::kGauge);
    for (const DeviceSnapshot& device : devices) {
      const std::optional<uint32_t> reading = Reading(device, static_cast<Annotation>(a));
      if (!reading) continue;
      family.samples.push_back(
          {.labels = LabelsOf(device), .value = static_cast<double>(*reading)});
    }
    Keep(std::move(family), families);
  }
}

void CollectInfo(const Snapshots& devices, std::vector<MetricFamily>& families) {
  MetricFamily family = Family(kInfoRows[0].name, kInfoRows[0].help, MetricType::kGauge);
  for (const DeviceSnapshot& device : devices) {
    if (!device.completed) continue;
    const DeviceIdentity& id = device.identity;
    Labels labels = LabelsOf(device);
    labels.insert(labels.end(), {{"name", id.name},
                                 {"driver", id.driver},
                                 {"driver_info", id.driver_info},
                                 {"uuid", id.uuid},
                                 {"pci_address", id.pci_address},
                                 {"software", id.software ? "true" : "false"}});
    family.samples.push_back({.labels = std::move(labels), .value = 1});
  }
  Keep(std::move(family), families);
}

}  // namespace

HistogramValue ToSeconds(const HistogramValues& values) {
  HistogramValue out;
  uint64_t cumulative = 0;
  for (std::size_t i = 0; i < kBucketBoundsNs.size(); ++i) {
    cumulative += values.counts[i];
    out.buckets.push_back({static_cast<double>(kBucketBoundsNs[i]) / kNsPerSecond, cumulative});
  }
  out.count = cumulative + values.counts.back();
  out.sum = static_cast<double>(values.sum_ns) / kNsPerSecond;
  return out;
}

MetricFamily ServiceFamily(std::string_view name) {
  const ServiceRow* row = FindServiceRow(name);
  if (row == nullptr) return {};
  return {std::string(row->name), std::string(row->help), row->type, {}};
}

void RecorderSource::Collect(std::vector<MetricFamily>& families) const {
  Snapshots devices = recorder_.Snapshot();
  std::erase_if(devices, [](const DeviceSnapshot& device) { return !device.submitted; });
  CollectCounters(devices, families);
  CollectDistributions(devices, families);
  CollectGauges(devices, families);
  CollectAnnotations(devices, families);
  CollectInfo(devices, families);
}

}  // namespace keysieve::evidence
