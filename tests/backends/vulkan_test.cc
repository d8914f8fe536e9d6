// SPDX-License-Identifier: MIT
// What is Vulkan's own: its table of results, its cache file, its validation layer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "backends/registry.h"
#include "backends/vulkan/errors.h"
#include "backends/vulkan/pipeline_cache.h"
#include "backends/vulkan/vulkan_device.h"
#include "evidence/base/status.h"
#include "tests/backends/images/probe_kernel.h"
#include "tests/support/counting_recorder.h"

namespace keysieve::backends::vulkan {
namespace {

using absl::StatusCode;
using evidence::FaultKind;
using testing::HasSubstr;

TEST(VulkanErrors, EachResultHasItsStatusAndItsFault) {
  const struct {
    VkResult result;
    StatusCode code;
    std::optional<FaultKind> fault;
  } rows[] = {
      {VK_SUCCESS, StatusCode::kOk, std::nullopt},
      {VK_TIMEOUT, StatusCode::kDeadlineExceeded, std::nullopt},
      {VK_ERROR_DEVICE_LOST, StatusCode::kDataLoss, FaultKind::kDeviceLost},
      {VK_ERROR_OUT_OF_DEVICE_MEMORY, StatusCode::kResourceExhausted, FaultKind::kOutOfMemory},
      {VK_ERROR_OUT_OF_HOST_MEMORY, StatusCode::kResourceExhausted, FaultKind::kOutOfMemory},
      {VK_ERROR_INCOMPATIBLE_DRIVER, StatusCode::kUnavailable, std::nullopt},
      {VK_ERROR_INVALID_SHADER_NV, StatusCode::kInvalidArgument, std::nullopt},
      {VK_ERROR_UNKNOWN, StatusCode::kInternal, FaultKind::kDispatch},
      {static_cast<VkResult>(-123456), StatusCode::kInternal, FaultKind::kDispatch},
      {static_cast<VkResult>(123456), StatusCode::kOk, std::nullopt},
  };
  for (const auto& row : rows) {
    const absl::Status status = StatusOf(row.result, "testing");
    EXPECT_EQ(status.code(), row.code) << row.result;
    EXPECT_EQ(FaultOf(row.result), row.fault) << row.result;
    EXPECT_THAT(Message(status), HasSubstr(status.ok() ? "" : "testing: "));
  }
  EXPECT_EQ(ResultName(VK_ERROR_DEVICE_LOST), "VK_ERROR_DEVICE_LOST");
}

TEST(VulkanCacheFile, DamageIsNoticed) {
  const std::string payload = "some pipelines";
  const std::string file = WrapCache(payload);
  EXPECT_EQ(UnwrapCache(file), payload);
  EXPECT_EQ(UnwrapCache(""), std::nullopt);
  for (size_t i = 0; i < file.size(); ++i) {
    std::string damaged = file;
    damaged[i] ^= 0x10;
    EXPECT_EQ(UnwrapCache(damaged), std::nullopt) << "byte " << i;
    EXPECT_EQ(UnwrapCache(file.substr(0, i)), std::nullopt) << "cut to " << i;
  }
  EXPECT_EQ(UnwrapCache(file + "x"), std::nullopt);
}

TEST(VulkanCacheFile, AnotherDevicesCacheIsNotTaken) {
  VkPhysicalDeviceProperties device{.vendorID = 0x10DE, .deviceID = 0x2335};
  device.pipelineCacheUUID[3] = 7;
  VkPipelineCacheHeaderVersionOne header{.headerSize = sizeof header,
                                         .headerVersion = VK_PIPELINE_CACHE_HEADER_VERSION_ONE,
                                         .vendorID = 0x10DE,
                                         .deviceID = 0x2335};
  header.pipelineCacheUUID[3] = 7;
  const auto bytes = [&] { return std::string(reinterpret_cast<char*>(&header), sizeof header); };
  EXPECT_TRUE(CacheIsFor(bytes(), device));
  EXPECT_FALSE(CacheIsFor(bytes().substr(1), device));
  header.pipelineCacheUUID[3] = 8;
  EXPECT_FALSE(CacheIsFor(bytes(), device));
  header.pipelineCacheUUID[3] = 7;
  header.deviceID = 1;
  EXPECT_FALSE(CacheIsFor(bytes(), device));
}

// Tests that need a device; a machine without one says why it skips.
class VulkanTest : public testing::Test {
 protected:
  void SetUp() override {
    const ProbeResult seen = ProbeAdapters(BackendKind::kVulkan);
    if (seen.adapters.empty()) GTEST_SKIP() << seen.reason;
    identity_ = seen.adapters.front();
    dir_ = std::filesystem::temp_directory_path() / Cat("keysieve-vulkan-test-", getpid());
    std::filesystem::remove_all(dir_);
  }
  void TearDown() override { std::filesystem::remove_all(dir_); }

  // Loads the probe on a fresh device with the cache and tells what the recorder heard.
  test::CountingRecorder LoadOnce() {
    test::CountingRecorder recorder;
    const auto device =
        OpenDevice(identity_, {.recorder = &recorder, .cache_dir = dir_.string() + "/deep"});
    EXPECT_TRUE(device.ok()) << device.status();
    const auto program = (*device)->Load(test::ProbeImage(BackendKind::kVulkan));
    EXPECT_TRUE(program.ok()) << program.status();
    return recorder;
  }
  std::filesystem::path CacheFile() {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(dir_)) {
      if (entry.path().extension() == ".pipelines") return entry.path();
    }
    return {};
  }

  Identity identity_;
  std::filesystem::path dir_;
};

TEST_F(VulkanTest, TheFirstLoadMissesAndLeavesACacheFile) {
  const test::CountingRecorder recorder = LoadOnce();
  EXPECT_EQ(recorder.compiled, 1u);
  EXPECT_GT(recorder.compile_ns, 0u);
  EXPECT_EQ(recorder.cache_misses, 1u);
  EXPECT_EQ(recorder.cache_hits, 0u);
  ASSERT_FALSE(CacheFile().empty());
  std::ifstream file(CacheFile(), std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  EXPECT_TRUE(UnwrapCache(bytes).has_value());
  const test::CountingRecorder again = LoadOnce();
  // A driver that gives feedback may own up to not having used it; one word a load it is.
  EXPECT_EQ(again.cache_hits + again.cache_misses, 1u);
}

TEST_F(VulkanTest, ADamagedCacheFileIsIgnoredAndReplaced) {
  LoadOnce();
  const std::filesystem::path path = CacheFile();
  std::ofstream(path, std::ios::binary | std::ios::trunc) << "nonsense";
  EXPECT_EQ(LoadOnce().cache_misses, 1u);
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  EXPECT_TRUE(UnwrapCache(bytes).has_value());
}

TEST_F(VulkanTest, ACacheThatCannotBeWrittenIsNotMissed) {
  std::ofstream(dir_) << "a file where the folder should be";
  EXPECT_EQ(LoadOnce().cache_misses, 1u);
}

TEST_F(VulkanTest, AdaptersAreDescribedWhole) {
  EXPECT_EQ(identity_.uuid.size(), 32u);
  EXPECT_EQ(identity_.uuid.find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_FALSE(identity_.driver.empty());
  EXPECT_FALSE(identity_.driver_info.empty());
  EXPECT_EQ(identity_.pci_vendor == 0, identity_.software) << "software is on no bus";
}

TEST_F(VulkanTest, ADeviceThatIsGoneIsUnavailable) {
  Identity gone = identity_;
  gone.uuid = std::string(32, 'f');
  EXPECT_EQ(OpenDevice(gone, {}).status().code(), StatusCode::kUnavailable);
}

TEST_F(VulkanTest, TheValidationLayerIsHeard) {
  const auto instance = Instance::Create({.validate = true});
  if (!instance.ok()) GTEST_SKIP() << instance.status();
  std::string passed_over;
  const auto adapters = (*instance)->Adapters(passed_over);
  ASSERT_TRUE(adapters.ok() && !adapters->empty());
  ASSERT_EQ((*instance)->validation_errors(), 0u);
  VkPhysicalDeviceProperties2 wrong{.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO};
  (*instance)->functions().vkGetPhysicalDeviceProperties2(adapters->front().handle, &wrong);
  EXPECT_EQ((*instance)->validation_errors(), 1u);
}

}  // namespace
}  // namespace keysieve::backends::vulkan
