// SPDX-License-Identifier: MIT
#include "daemon/scan_counters.h"

#include <gtest/gtest.h>

namespace keysieve::pipeline {
namespace {

TEST(ScanCounters, PastTheLimitANewRuleCountsAsOther) {
  ScanCounters counters({.rules = 3});
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 10; ++i) counters.Found("rule" + std::to_string(i));
  }
  const auto values = counters.Read();
  EXPECT_EQ(values.findings,
            (ScanCounters::ByLabel{{"rule0", 2}, {"rule1", 2}, {"rule2", 2}, {"other", 14}}));
}

TEST(ScanCounters, AThousandTenantsAreBoundedAndNothingIsLost) {
  ScanCounters counters({.tenants = 100});
  for (int i = 0; i < 1000; ++i) {
    const std::string tenant = "t" + std::to_string(i);
    counters.TenantScanned(tenant, 10);
    counters.TenantCharged(tenant, "cuda", 7);
  }
  const auto values = counters.Read();
  EXPECT_EQ(values.tenant_bytes.size(), 101u);
  EXPECT_EQ(values.tenant_bytes.at("other"), 9000u);
  EXPECT_EQ(values.tenant_device_ns.size(), 101u);
  EXPECT_EQ(values.tenant_device_ns.at({"other", "cuda"}), 6300u);
  EXPECT_EQ(values.tenant_device_ns.at({"t99", "cuda"}), 7u);
}

TEST(ScanCounters, ChargesAndBytesShareOneBound) {
  ScanCounters counters({.tenants = 2});
  counters.TenantCharged("a", "cuda", 1);
  counters.TenantScanned("b", 1);
  counters.TenantScanned("c", 1);
  counters.TenantCharged("d", "cuda", 1);
  const auto values = counters.Read();
  EXPECT_EQ(values.tenant_bytes, (ScanCounters::ByLabel{{"a", 0}, {"b", 1}, {"other", 1}}));
  EXPECT_EQ(values.tenant_device_ns.size(), 2u);
  EXPECT_EQ(values.tenant_device_ns.at({"other", "cuda"}), 1u);
}

TEST(ScanCounters, ABlobsLatencyIsCountedOnceABlob) {
  ScanCounters counters;
  counters.Blob(std::chrono::microseconds(30));
  counters.Blob(std::chrono::nanoseconds(-5));  // a clock that was set back
  const auto values = counters.Read();
  EXPECT_EQ(values.blobs, 2u);
  EXPECT_EQ(values.blob_latency.sum_ns, 30'000u);
  EXPECT_EQ(values.blob_latency.counts[0], 1u);
}

}  // namespace
}  // namespace keysieve::pipeline
