// SPDX-License-Identifier: MIT
// The table keeps Prometheus' conventions and the project's stable numbers.
#include "evidence/vocabulary.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "evidence/base/status.h"

namespace keysieve::evidence {
namespace {

std::vector<std::string> FamilyNames() {
  std::vector<std::string> names;
  for (const CounterRow& row : kCounterRows) names.push_back(Cat(kPrefix, row.name));
  for (const DistributionRow& row : kDistributionRows) names.push_back(Cat(kPrefix, row.name));
  for (const GaugeRow& row : kGaugeRows) names.push_back(Cat(kPrefix, row.name));
  for (const AnnotationRow& row : kAnnotationRows) names.push_back(Cat(kPrefix, row.name));
  for (const InfoRow& row : kInfoRows) names.push_back(Cat(kPrefix, row.name));
  for (const ServiceRow& row : kServiceRows) names.push_back(std::string(row.name));
  return names;
}

bool IsSnakeCase(const std::string& name) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  };
  return std::all_of(name.begin(), name.end(), allowed) && name[0] >= 'a' && name[0] <= 'z' &&
         name.back() != '_' && name.find("__") == std::string::npos;
}

TEST(Vocabulary, FamilyNamesAreDistinctAndSnakeCase) {
  std::set<std::string> seen;
  for (const std::string& name : FamilyNames()) {
    EXPECT_TRUE(IsSnakeCase(name)) << name;
    EXPECT_TRUE(seen.insert(name).second) << name << " is there twice";
    // A histogram's series end in these; nothing else may.
    for (std::string_view reserved : {"_bucket", "_count", "_sum"}) {
      EXPECT_FALSE(name.ends_with(reserved)) << name;
    }
  }
}

TEST(Vocabulary, NamesEndInTheirUnit) {
  for (const CounterRow& row : kCounterRows) {
    const std::string_view suffix = row.unit == Unit::kBytes         ? "_bytes_total"
                                    : row.unit == Unit::kNanoseconds ? "_seconds_total"
                                    : row.unit == Unit::kCycles      ? "_cycles_total"
                                                                     : "_total";
    EXPECT_TRUE(row.name.ends_with(suffix)) << row.name;
  }
  for (const DistributionRow& row : kDistributionRows) {
    EXPECT_TRUE(row.name.ends_with("_seconds")) << row.name;
  }
  for (const GaugeRow& row : kGaugeRows) {
    EXPECT_FALSE(row.name.ends_with("_total")) << row.name;
    EXPECT_EQ(row.unit == Unit::kBytes, row.name.ends_with("_bytes")) << row.name;
    EXPECT_EQ(row.unit == Unit::kRatio, row.name.ends_with("_ratio")) << row.name;
  }
  for (const ServiceRow& row : kServiceRows) {
    EXPECT_EQ(row.type == MetricType::kCounter, row.name.ends_with("_total")) << row.name;
  }
}

TEST(Vocabulary, EveryRowSaysWhatAndWhen) {
  for (const CounterRow& row : kCounterRows) {
    EXPECT_TRUE(row.help.ends_with(".")) << row.name;
    EXPECT_FALSE(row.when.empty()) << row.name;
  }
  for (const GaugeRow& row : kGaugeRows) EXPECT_TRUE(row.help.ends_with(".")) << row.name;
  for (const EventRow& row : kEventRows) EXPECT_FALSE(row.when.empty()) << row.name;
  for (const ServiceRow& row : kServiceRows) EXPECT_TRUE(row.help.ends_with(".")) << row.name;
}

TEST(Vocabulary, CapabilityNumbersAreStable) {
  EXPECT_EQ(static_cast<int>(Capability::kKernelTimestamps), 1);
  EXPECT_EQ(static_cast<int>(Capability::kOccupancy), 2);
  EXPECT_EQ(static_cast<int>(Capability::kUtilization), 3);
  EXPECT_EQ(static_cast<int>(Capability::kStallCounters), 4);
  EXPECT_EQ(kCapabilities, 4u);
}

TEST(Vocabulary, BackendCodesAreTotalAndStable) {
  EXPECT_EQ(*AcceleratorFromCode(1), Accelerator::kCuda);
  EXPECT_EQ(*AcceleratorFromCode(2), Accelerator::kMetal);
  EXPECT_EQ(*AcceleratorFromCode(3), Accelerator::kVulkan);
  EXPECT_EQ(AcceleratorName(Accelerator::kCuda), "cuda");
  EXPECT_EQ(AcceleratorName(Accelerator::kMetal), "metal");
  EXPECT_EQ(AcceleratorName(Accelerator::kVulkan), "vulkan");
  for (int code = 1; code <= 3; ++code) {
    const Accelerator accelerator = *AcceleratorFromCode(code);
    EXPECT_EQ(*AcceleratorFromName(AcceleratorName(accelerator)), accelerator);
  }
}

TEST(Vocabulary, AnUnknownBackendIsAnErrorNotAnotherVendor) {
  for (int code : {-1, 0, 4, 255}) {
    const auto accelerator = AcceleratorFromCode(code);
    ASSERT_EQ(accelerator.status().code(), absl::StatusCode::kInvalidArgument) << code;
    EXPECT_NE(Message(accelerator.status()).find(std::to_string(code)), std::string::npos);
    EXPECT_EQ(AcceleratorName(static_cast<Accelerator>(code)), "") << code;
  }
  for (std::string_view name : {"", "cpu", "wgpu", "CUDA", "cuda "}) {
    EXPECT_EQ(AcceleratorFromName(name).status().code(), absl::StatusCode::kInvalidArgument)
        << name;
  }
}

TEST(Vocabulary, LabelValuesFillTheirCells) {
  for (LabelKind label : {LabelKind::kNone, LabelKind::kTraffic, LabelKind::kFault,
                          LabelKind::kEvent, LabelKind::kCapability}) {
    EXPECT_EQ(LabelValues(label).size(), LabelCount(label));
  }
  EXPECT_EQ(LabelValues(LabelKind::kTraffic)[Index(Traffic::kHits)], "hits");
  EXPECT_EQ(LabelValues(LabelKind::kFault)[Index(FaultKind::kDeviceLost)], "device_lost");
  EXPECT_EQ(LabelValues(LabelKind::kEvent)[Index(Event::kBackendRecovered)], "backend_recovered");
  EXPECT_EQ(LabelValues(LabelKind::kCapability)[Index(Capability::kStallCounters)],
            "stall_counters");
}

TEST(Vocabulary, ServiceRowsAreFoundByTheirWholeName) {
  const ServiceRow* row = FindServiceRow("keysieve_scans_total");
  ASSERT_NE(row, nullptr);
  EXPECT_EQ(row->labels, "result");
  EXPECT_EQ(FindServiceRow("keysieve_scans"), nullptr);
  EXPECT_EQ(FindServiceRow(""), nullptr);
}

}  // namespace
}  // namespace keysieve::evidence
