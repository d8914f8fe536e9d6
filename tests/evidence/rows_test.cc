// SPDX-License-Identifier: MIT
// Each thing a device can report, and every series it changes with the amount, written out by hand.
// Whatever is not written must not change. The last test fails for a row that no cause changes, so
// a row that is never recorded can't stay in the table.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "evidence/recorder.h"
#include "evidence/recorder_source.h"

namespace keysieve::evidence {
namespace {

// Series without prefix, backend and device -> value; of histograms _count and _sum.
using Series = std::map<std::string, double>;

struct Cause {
  std::string what;
  std::function<void(DeviceLedger&)> before;  // not measured
  std::function<void(DeviceLedger&)> act;
  Series changes;
};

void PrintTo(const Cause& cause, std::ostream* out) { *out << cause.what; }

std::string Key(const MetricFamily& family, const MetricSample& sample, std::string_view suffix) {
  std::string key = family.name.substr(kPrefix.size()).append(suffix);
  for (const auto& [name, value] : sample.labels) {
    if (name != "backend" && name != "device") key += "{" + name + "=" + value + "}";
  }
  return key;
}

Series Read(const Recorder& recorder) {
  std::vector<MetricFamily> families;
  RecorderSource(recorder).Collect(families);
  Series series;
  for (const MetricFamily& family : families) {
    for (const MetricSample& sample : family.samples) {
      if (family.type == MetricType::kHistogram) {
        series[Key(family, sample, "_count")] = static_cast<double>(sample.histogram.count);
        series[Key(family, sample, "_sum")] = sample.histogram.sum;
      } else {
        series[Key(family, sample, "")] = sample.value;
      }
    }
  }
  return series;
}

// What differs, and by how much; a series that was not there before differs even by 0.
Series Difference(const Series& before, const Series& after) {
  Series difference;
  for (const auto& [key, value] : after) {
    const auto old = before.find(key);
    if (old == before.end()) difference[key] = value;
    if (old != before.end() && old->second != value) difference[key] = value - old->second;
  }
  for (const auto& [key, value] : before) {
    if (!after.contains(key)) difference[key] = -value;
  }
  return difference;
}

void Nothing(DeviceLedger&) {}

DispatchRecord Copies() { return {}; }
DispatchRecord Launch(uint64_t submit_to_complete_ns) {
  DispatchRecord record;
  record.launched = true;
  record.submit_to_complete_ns = submit_to_complete_ns;
  return record;
}

// Has run before: identity and gaps are said, every family is there.
void Seasoned(DeviceLedger& ledger) { ledger.Completed(Launch(1)); }
void WithMemory(DeviceLedger& ledger) {
  Seasoned(ledger);
  ledger.Allocated(1000);
}

std::vector<Cause> DispatchCauses() {
  return {
      {"ALaunchOfUnknownKernelTime",
       Seasoned,
       [](DeviceLedger& l) { l.Completed(Launch(3'000'000'000)); },
       {{"dispatches_total", 1},
        {"submit_to_complete_seconds_total", 3},
        {"submit_to_complete_duration_seconds_count", 1},
        {"submit_to_complete_duration_seconds_sum", 3}}},
      {"ALaunchOfKnownKernelTime",
       Seasoned,
       [](DeviceLedger& l) {
         DispatchRecord record = Launch(5'000'000'000);
         record.kernel_ns = 2'000'000'000;
         l.Completed(record);
       },
       {{"dispatches_total", 1},
        {"submit_to_complete_seconds_total", 5},
        {"submit_to_complete_duration_seconds_count", 1},
        {"submit_to_complete_duration_seconds_sum", 5},
        {"kernel_seconds_total", 2},
        {"kernel_duration_seconds_count", 1},
        {"kernel_duration_seconds_sum", 2},
        {"queue_wait_seconds_total", 3},
        {"queue_wait_duration_seconds_count", 1},
        {"queue_wait_duration_seconds_sum", 3}}},
      {"Uploads",
       Seasoned,
       [](DeviceLedger& l) {
         DispatchRecord record = Copies();
         record.uploads = {{1, 20, 300, 4000}};
         record.upload_ns = 7'000'000'000;
         l.Completed(record);
       },
       {{"upload_bytes_total{kind=text}", 1},
        {"upload_bytes_total{kind=control}", 20},
        {"upload_bytes_total{kind=table}", 300},
        {"upload_bytes_total{kind=hits}", 4000},
        {"upload_seconds_total", 7},
        {"upload_duration_seconds_count", 1},
        {"upload_duration_seconds_sum", 7}}},
      {"Readbacks",
       Seasoned,
       [](DeviceLedger& l) {
         DispatchRecord record = Copies();
         record.readbacks = {{5, 60, 700, 8000}};
         record.readback_ns = 11'000'000'000;
         l.Completed(record);
       },
       {{"readback_bytes_total{kind=text}", 5},
        {"readback_bytes_total{kind=control}", 60},
        {"readback_bytes_total{kind=table}", 700},
        {"readback_bytes_total{kind=hits}", 8000},
        {"readback_seconds_total", 11},
        {"readback_duration_seconds_count", 1},
        {"readback_duration_seconds_sum", 11}}},
      {"Overlap",
       Seasoned,
       [](DeviceLedger& l) {
         DispatchRecord record = Copies();
         record.overlap_ns = 13'000'000'000;
         l.Completed(record);
       },
       {{"overlap_seconds_total", 13}}},
      {"AKernelTimeWithoutALaunch",
       Seasoned,
       [](DeviceLedger& l) {
         DispatchRecord record = Copies();
         record.kernel_ns = 0;
         l.Completed(record);
       },
       {{"accounting_errors_total", 1}}},
  };
}

std::vector<Cause> MemoryAndProgramCauses() {
  return {
      {"AnAllocation",
       WithMemory,
       [](DeviceLedger& l) { l.Allocated(500); },
       {{"allocations_total", 1},
        {"allocated_bytes_total", 500},
        {"resident_bytes", 500},
        {"peak_resident_bytes", 500}}},
      {"AFree",
       WithMemory,
       [](DeviceLedger& l) { l.Freed(400); },
       {{"freed_bytes_total", 400}, {"resident_bytes", -400}}},
      {"AnOverFree",
       WithMemory,
       [](DeviceLedger& l) { l.Freed(1001); },
       {{"accounting_errors_total", 1}}},
      {"ACompilation",
       Seasoned,
       [](DeviceLedger& l) { l.Compiled(17'000'000'000); },
       {{"compiles_total", 1}, {"compile_seconds_total", 17}}},
      {"ACacheHit",
       Seasoned,
       [](DeviceLedger& l) { l.PipelineCache(true); },
       {{"pipeline_cache_hits_total", 1}}},
      {"ACacheMiss",
       Seasoned,
       [](DeviceLedger& l) { l.PipelineCache(false); },
       {{"pipeline_cache_misses_total", 1}}},
  };
}

std::vector<Cause> FaultCauses() {
  std::vector<Cause> causes;
  const std::pair<FaultKind, std::string> kinds[] = {{FaultKind::kDispatch, "dispatch"},
                                                     {FaultKind::kTimeout, "timeout"},
                                                     {FaultKind::kOutOfMemory, "out_of_memory"},
                                                     {FaultKind::kDeviceLost, "device_lost"},
                                                     {FaultKind::kIntegrity, "integrity"}};
  for (const auto& [kind, name] : kinds) {
    causes.push_back({"AFaultOfKind_" + name,
                      Seasoned,
                      [kind = kind](DeviceLedger& l) { l.Fault(kind); },
                      {{"faults_total{kind=" + name + "}", 1}, {"events_total{event=fault}", 1}}});
  }
  const std::vector<Cause> rest = {
      {"ARetry",
       Seasoned,
       [](DeviceLedger& l) { l.Retried(3); },
       {{"retries_total", 1}, {"retry_attempt", 3}}},
      {"ARecovery",
       Seasoned,
       [](DeviceLedger& l) { l.Recovered(); },
       {{"recoveries_total", 1}, {"events_total{event=backend_recovered}", 1}}},
      {"AResidualBatch",
       Seasoned,
       [](DeviceLedger& l) { l.ResidualBatch(); },
       {{"residual_batches_total", 1}}},
      {"AnOverflowReplay",
       Seasoned,
       [](DeviceLedger& l) { l.OverflowReplayed(); },
       {{"overflow_replays_total", 1}}},
      {"AQuarantine",
       Seasoned,
       [](DeviceLedger& l) { l.Quarantined(); },
       {{"events_total{event=device_quarantined}", 1}}},
  };
  causes.insert(causes.end(), rest.begin(), rest.end());
  return causes;
}

std::vector<Cause> ReadingCauses() {
  return {
      {"BusyTime",
       Seasoned,
       [](DeviceLedger& l) { l.Busy(19'000'000'000); },
       {{"busy_seconds_total", 19}}},
      {"StallCycles",
       Seasoned,
       [](DeviceLedger& l) { l.Stalled(23); },
       {{"stall_cycles_total", 23}}},
      {"Utilization",
       Seasoned,
       [](DeviceLedger& l) { l.Observed(0.25, std::nullopt); },
       {{"utilization_ratio", 0.25}}},
      {"Occupancy",
       Seasoned,
       [](DeviceLedger& l) { l.Observed(std::nullopt, 0.0); },
       {{"occupancy_ratio", 0}}},
      // The device of these tests lacks every capability.
      {"TheFirstCompletedDispatch",
       Nothing,
       [](DeviceLedger& l) { l.Completed(Launch(0)); },
       {{"dispatches_total", 1},
        {"submit_to_complete_duration_seconds_count", 1},
        {"events_total{event=adapter_acquired}", 1},
        {"events_total{event=capability_unsupported}", 4},
        {"capability_gaps_total{capability=kernel_timestamps}", 1},
        {"capability_gaps_total{capability=occupancy}", 1},
        {"capability_gaps_total{capability=utilization}", 1},
        {"capability_gaps_total{capability=stall_counters}", 1},
        {"capability_supported{capability=kernel_timestamps}", 0},
        {"capability_supported{capability=occupancy}", 0},
        {"capability_supported{capability=utilization}", 0},
        {"capability_supported{capability=stall_counters}", 0},
        {"backend_code", 3},
        {"pci_vendor_code", 0x8086},
        {"pci_device_code", 0x56c0},
        {"device_info{name=card}{driver=1.2}{driver_info=Mesa}{uuid=00ff}{pci_address=0000:01:00.0}"
         "{software=false}",
         1}}},
  };
}

std::vector<Cause> Causes() {
  std::vector<Cause> all;
  for (auto part : {DispatchCauses(), MemoryAndProgramCauses(), FaultCauses(), ReadingCauses()}) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

const DeviceIdentity kIdentity{.name = "card",
                               .driver = "1.2",
                               .driver_info = "Mesa",
                               .uuid = "00ff",
                               .pci_address = "0000:01:00.0",
                               .pci_vendor = 0x8086,
                               .pci_device = 0x56c0};

Series Observe(const Cause& cause, std::size_t once_capacity) {
  Recorder recorder({.contexts = 1, .devices = 1, .once_capacity = once_capacity});
  DeviceLedger* ledger = *recorder.RegisterDevice(Accelerator::kVulkan, 0, kIdentity, {});
  ledger->Submitted();
  cause.before(*ledger);
  const Series before = Read(recorder);
  cause.act(*ledger);
  return Difference(before, Read(recorder));
}

class RowsTest : public testing::TestWithParam<Cause> {};

TEST_P(RowsTest, ChangesExactlyItsSeriesByExactlyTheirAmounts) {
  EXPECT_EQ(Observe(GetParam(), 64), GetParam().changes);
}

INSTANTIATE_TEST_SUITE_P(Causes, RowsTest, testing::ValuesIn(Causes()),
                         [](const auto& info) { return info.param.what; });

const Series kLossChanges = {{"dispatches_total", 1},
                             {"submit_to_complete_duration_seconds_count", 1},
                             {"events_total{event=adapter_acquired}", 1},
                             {"events_total{event=capability_unsupported}", 2},
                             {"capability_gaps_total{capability=kernel_timestamps}", 1},
                             {"capability_gaps_total{capability=occupancy}", 1},
                             {"once_losses_total", 2}};

TEST(Rows, AnEntryThatDoesNotFitTheOnceSetIsALoss) {
  const Cause first{"", Nothing, [](DeviceLedger& l) { l.Completed(Launch(0)); }, {}};
  Series changes = Observe(first, 3);
  std::erase_if(changes, [](const auto& change) {
    return change.first.starts_with("capability_supported") ||
           change.first.starts_with("device_info") || change.first.ends_with("_code");
  });
  EXPECT_EQ(changes, kLossChanges);
}

// Every row, with every label value it can take.
std::set<std::string> EverySeries() {
  std::set<std::string> all;
  const auto add = [&all](const auto& rows) {
    for (const auto& row : rows) {
      for (std::string_view value : LabelValues(row.label)) {
        std::string key(row.name);
        if (row.label != LabelKind::kNone) {
          key.append("{").append(LabelName(row.label)).append("=").append(value).append("}");
        }
        all.insert(key);
      }
    }
  };
  add(kCounterRows);
  add(kGaugeRows);
  for (const DistributionRow& row : kDistributionRows) {
    all.insert(std::string(row.name) + "_count");
    all.insert(std::string(row.name) + "_sum");
  }
  for (const AnnotationRow& row : kAnnotationRows) all.insert(std::string(row.name));
  for (const InfoRow& row : kInfoRows) all.insert(std::string(row.name));
  return all;
}

TEST(Rows, NoneIsNeverRecorded) {
  std::set<std::string> never = EverySeries();
  const auto changed = [&never](const Series& changes) {
    for (const auto& [key, value] : changes) {
      never.erase(key.starts_with("device_info") ? "device_info" : key);
    }
  };
  for (const Cause& cause : Causes()) changed(cause.changes);
  changed(kLossChanges);
  EXPECT_EQ(never, std::set<std::string>{}) << "rows without a cause that changes them";
}

}  // namespace
}  // namespace keysieve::evidence
