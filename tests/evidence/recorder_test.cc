// SPDX-License-Identifier: MIT
// Registration: stable, silent, and never another vendor's.
#include "evidence/recorder.h"

#include <gtest/gtest.h>

#include "evidence/base/status.h"
#include "evidence/recorder_source.h"

namespace keysieve::evidence {
namespace {

constexpr CapabilityFlags kAll{true, true, true, true};

std::size_t FamilyCount(const Recorder& recorder) {
  std::vector<MetricFamily> families;
  RecorderSource(recorder).Collect(families);
  return families.size();
}

TEST(Recorder, TheSamePlaceIsTheSameLedger) {
  Recorder recorder({});
  const auto first = recorder.RegisterDevice(Accelerator::kCuda, 0, {.name = "card"}, kAll);
  const auto second = recorder.RegisterDevice(Accelerator::kCuda, 1, {.name = "card"}, kAll);
  const auto vulkan = recorder.RegisterDevice(Accelerator::kVulkan, 0, {.name = "card"}, kAll);
  ASSERT_TRUE(first.ok() && second.ok() && vulkan.ok());
  EXPECT_NE(*first, *second);
  EXPECT_NE(*first, *vulkan);
  for (int i = 2; i < 40; ++i) {
    ASSERT_TRUE(recorder.RegisterDevice(Accelerator::kCuda, i, {.name = "card"}, kAll).ok());
  }
  EXPECT_EQ(*recorder.RegisterDevice(Accelerator::kCuda, 0, {.name = "card"}, kAll), *first);
}

TEST(Recorder, AnotherDeviceInTheSamePlaceIsRefused) {
  Recorder recorder({});
  ASSERT_TRUE(recorder.RegisterDevice(Accelerator::kCuda, 0, {.name = "old card"}, kAll).ok());
  const auto other = recorder.RegisterDevice(Accelerator::kCuda, 0, {.name = "new card"}, kAll);
  EXPECT_EQ(other.status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_NE(Message(other.status()).find("old card"), std::string::npos);
  EXPECT_NE(Message(other.status()).find("new card"), std::string::npos);
}

TEST(Recorder, UnknownBackendsAndIndicesAreErrors) {
  Recorder recorder({});
  for (int code : {0, 4, 200}) {
    EXPECT_EQ(recorder.RegisterDevice(static_cast<Accelerator>(code), 0, {}, {}).status().code(),
              absl::StatusCode::kInvalidArgument)
        << code;
  }
  for (int index : {-1, 65536}) {
    EXPECT_EQ(recorder.RegisterDevice(Accelerator::kMetal, index, {}, {}).status().code(),
              absl::StatusCode::kInvalidArgument)
        << index;
  }
  EXPECT_TRUE(recorder.Snapshot().empty());
}

TEST(Recorder, TooManyDevicesIsAnErrorThatSaysHowMany) {
  Recorder recorder({.devices = 2});
  ASSERT_TRUE(recorder.RegisterDevice(Accelerator::kCuda, 0, {}, {}).ok());
  ASSERT_TRUE(recorder.RegisterDevice(Accelerator::kCuda, 1, {}, {}).ok());
  const auto third = recorder.RegisterDevice(Accelerator::kCuda, 2, {}, {});
  EXPECT_EQ(third.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_NE(Message(third.status()).find("all 2 places"), std::string::npos);
}

TEST(Recorder, ProbingAndOpeningRecordNothing) {
  Recorder recorder({});
  EXPECT_EQ(FamilyCount(recorder), 0u);
  DeviceLedger* ledger = *recorder.RegisterDevice(Accelerator::kVulkan, 0, {.name = "card"}, {});
  EXPECT_EQ(FamilyCount(recorder), 0u);
  ledger->Allocated(1 << 20);
  ledger->Compiled(1000);
  ledger->PipelineCache(false);
  EXPECT_EQ(FamilyCount(recorder), 0u);
  EXPECT_EQ(ledger->Snapshot().counters.Sum(Counter::kEvents), 0u);
}

TEST(Recorder, AtTheFirstSubmissionEveryCounterOfWorkIsThereAtZero) {
  Recorder recorder({});
  DeviceLedger* ledger = *recorder.RegisterDevice(Accelerator::kCuda, 0, {}, {});
  ledger->Submitted();
  std::vector<MetricFamily> families;
  RecorderSource(recorder).Collect(families);
  std::size_t counters = 0;
  std::size_t histograms = 0;
  for (const MetricFamily& family : families) {
    counters += family.type == MetricType::kCounter;
    histograms += family.type == MetricType::kHistogram;
    for (const MetricSample& sample : family.samples) {
      EXPECT_EQ(sample.value, 0) << family.name;
      EXPECT_EQ(sample.histogram.count, 0u) << family.name;
    }
    EXPECT_NE(family.name, "keysieve_gpu_device_info");
    EXPECT_NE(family.name, "keysieve_gpu_capability_supported");
  }
  EXPECT_EQ(counters, kCounters);
  EXPECT_EQ(histograms, kDistributions);
}

TEST(Recorder, ADeviceThatWasNeverUsedStaysInvisibleBesideOneThatWas) {
  Recorder recorder({});
  (*recorder.RegisterDevice(Accelerator::kCuda, 0, {}, {}))->Submitted();
  ASSERT_TRUE(recorder.RegisterDevice(Accelerator::kCuda, 1, {}, {}).ok());
  std::vector<MetricFamily> families;
  RecorderSource(recorder).Collect(families);
  ASSERT_FALSE(families.empty());
  for (const MetricFamily& family : families) {
    for (const MetricSample& sample : family.samples) {
      ASSERT_GE(sample.labels.size(), 2u);
      EXPECT_EQ(sample.labels[0], std::make_pair(std::string("backend"), std::string("cuda")));
      EXPECT_EQ(sample.labels[1], std::make_pair(std::string("device"), std::string("0")));
    }
  }
}

TEST(Recorder, SnapshotsComeByBackendAndIndex) {
  Recorder recorder({});
  ASSERT_TRUE(recorder.RegisterDevice(Accelerator::kVulkan, 0, {}, {}).ok());
  ASSERT_TRUE(recorder.RegisterDevice(Accelerator::kCuda, 1, {}, {}).ok());
  ASSERT_TRUE(recorder.RegisterDevice(Accelerator::kCuda, 0, {}, {}).ok());
  const auto snapshots = recorder.Snapshot();
  ASSERT_EQ(snapshots.size(), 3u);
  EXPECT_EQ(snapshots[0].accelerator, Accelerator::kCuda);
  EXPECT_EQ(snapshots[0].index, 0);
  EXPECT_EQ(snapshots[1].index, 1);
  EXPECT_EQ(snapshots[2].accelerator, Accelerator::kVulkan);
}

}  // namespace
}  // namespace keysieve::evidence
