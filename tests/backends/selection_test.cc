// SPDX-License-Identifier: MIT
// Which devices are chosen on which machine.
#include "backends/selection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "evidence/base/status.h"

namespace keysieve::backends {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::string kUuidA(32, 'a');
const std::string kUuidB = std::string(16, 'b') + std::string(16, '0');

Identity Cuda(int index, std::string uuid, std::string pci) {
  return {.backend = BackendKind::kCuda,
          .index = index,
          .name = "H200",
          .uuid = uuid,
          .pci_address = pci};
}
Identity Vulkan(int index, bool software, std::string uuid = "", std::string pci = "") {
  return {.backend = BackendKind::kVulkan,
          .index = index,
          .name = software ? "llvmpipe" : "Radeon",
          .uuid = uuid,
          .pci_address = pci,
          .software = software};
}
Identity Cpu() { return {.backend = BackendKind::kCpu, .name = "EPYC", .software = true}; }

// A machine: what each backend sees. A backend left out sees nothing and says "no driver".
class Machine {
 public:
  explicit Machine(std::map<BackendKind, std::vector<Identity>> seen) : seen_(std::move(seen)) {}
  absl::StatusOr<Choice> Select(Selection selection) {
    return SelectDevicesAmong(selection, [this](BackendKind kind) {
      const auto found = seen_.find(kind);
      if (found == seen_.end()) return ProbeResult{{}, Cat("no driver for ", BackendName(kind))};
      return ProbeResult{found->second, ""};
    });
  }

 private:
  std::map<BackendKind, std::vector<Identity>> seen_;
};

std::vector<int> Indices(const Choice& choice) {
  std::vector<int> indices;
  for (const Identity& device : choice.devices) indices.push_back(device.index);
  return indices;
}

Machine Everything() {
  return Machine({{BackendKind::kCuda, {Cuda(0, kUuidA, "0000:17:00.0"), Cuda(1, kUuidB, "")}},
                  {BackendKind::kVulkan, {Vulkan(0, false), Vulkan(1, true)}},
                  {BackendKind::kCpu, {Cpu()}}});
}

TEST(Selection, AutoTakesEveryCudaDeviceFirst) {
  const auto choice = Everything().Select({.backend = "auto"});
  ASSERT_TRUE(choice.ok()) << choice.status();
  EXPECT_EQ(choice->devices.front().backend, BackendKind::kCuda);
  EXPECT_THAT(Indices(*choice), ElementsAre(0, 1));
  EXPECT_THAT(choice->why, HasSubstr("cuda"));
}

TEST(Selection, AutoTakesHardwareVulkanNextAndPassesOverSoftware) {
  Machine machine(
      {{BackendKind::kVulkan, {Vulkan(0, true), Vulkan(1, false)}}, {BackendKind::kCpu, {Cpu()}}});
  const auto choice = machine.Select({});
  ASSERT_TRUE(choice.ok()) << choice.status();
  EXPECT_EQ(choice->devices.front().backend, BackendKind::kVulkan);
  EXPECT_THAT(Indices(*choice), ElementsAre(1));
  EXPECT_THAT(choice->why, HasSubstr("no driver for cuda"));
}

TEST(Selection, AutoTakesTheCpuRatherThanSoftwareVulkan) {
  Machine machine({{BackendKind::kVulkan, {Vulkan(0, true)}}, {BackendKind::kCpu, {Cpu()}}});
  const auto choice = machine.Select({.backend = "auto"});
  ASSERT_TRUE(choice.ok()) << choice.status();
  EXPECT_EQ(choice->devices.front().backend, BackendKind::kCpu);
  EXPECT_THAT(choice->why, HasSubstr("only software (llvmpipe)"));
}

TEST(Selection, OnePhysicalDeviceIsTakenOnce) {
  Machine machine({{BackendKind::kVulkan,
                    {Vulkan(0, false, kUuidA, "0000:03:00.0"), Vulkan(1, false, kUuidA),
                     Vulkan(2, false, "", "0000:03:00.0"), Vulkan(3, false, kUuidB)}}});
  const auto choice = machine.Select({});
  ASSERT_TRUE(choice.ok()) << choice.status();
  EXPECT_THAT(Indices(*choice), ElementsAre(0, 3));
}

TEST(Selection, SoftwareVulkanIsTakenWhenNamed) {
  Machine machine({{BackendKind::kVulkan, {Vulkan(0, true)}}, {BackendKind::kCpu, {Cpu()}}});
  const auto choice = machine.Select({.backend = "vulkan"});
  ASSERT_TRUE(choice.ok()) << choice.status();
  EXPECT_THAT(Indices(*choice), ElementsAre(0));
  EXPECT_TRUE(choice->devices[0].software);
}

TEST(Selection, SoftwareBesideHardwareNeedsItsIndex) {
  EXPECT_THAT(Indices(*Everything().Select({.backend = "vulkan"})), ElementsAre(0));
  EXPECT_THAT(Indices(*Everything().Select({.backend = "vulkan", .devices = {"1"}})),
              ElementsAre(1));
}

TEST(Selection, DevicesGoByIndexOrUuid) {
  EXPECT_THAT(Indices(*Everything().Select({.devices = {"1"}})), ElementsAre(1));
  EXPECT_THAT(Indices(*Everything().Select({.devices = {kUuidB, "0"}})), ElementsAre(1, 0));
  const std::string dashed = "GPU-AAAAAAAA-AAAA-AAAA-AAAA-AAAAAAAAAAAA";
  EXPECT_THAT(Indices(*Everything().Select({.backend = "cuda", .devices = {dashed, "0"}})),
              ElementsAre(0));
}

TEST(Selection, AnUnknownDeviceIsNotFoundAndListsWhatThereIs) {
  const auto choice = Everything().Select({.backend = "cuda", .devices = {"7"}});
  EXPECT_EQ(choice.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(Message(choice.status()), HasSubstr("\"7\""));
  EXPECT_THAT(Message(choice.status()), HasSubstr("0 = H200 " + kUuidA));
}

TEST(Selection, ANamedAcceleratorThatCannotStartIsNeverTheCpu) {
  Machine machine({{BackendKind::kCpu, {Cpu()}}});
  for (const std::string backend : {"cuda", "vulkan", "metal"}) {
    const auto choice = machine.Select({.backend = backend});
    EXPECT_EQ(choice.status().code(), absl::StatusCode::kUnavailable) << choice.status();
    EXPECT_THAT(Message(choice.status()), HasSubstr("no driver for " + backend));
  }
}

TEST(Selection, AnUnknownBackendIsAnInvalidArgument) {
  const auto choice = Everything().Select({.backend = "opencl"});
  EXPECT_EQ(choice.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(choice.status()), HasSubstr("opencl"));
}

TEST(Registry, TheCpuIsAlwaysThereAndMetalSaysItIsNotBuilt) {
  const std::vector<BackendKind> built = BuiltBackends();
  EXPECT_EQ(built.back(), BackendKind::kCpu);
  EXPECT_EQ(ProbeAdapters(BackendKind::kCpu).adapters.size(), 1u);
  const auto choice = SelectDevices({.backend = "metal"});
  EXPECT_EQ(choice.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(Message(choice.status()), HasSubstr("no metal backend"));
}

TEST(Registry, EveryBackendHasDevicesOrAReason) {
  for (const BackendKind kind :
       {BackendKind::kCpu, BackendKind::kCuda, BackendKind::kMetal, BackendKind::kVulkan}) {
    const ProbeResult seen = ProbeAdapters(kind);
    EXPECT_EQ(seen.adapters.empty(), !seen.reason.empty()) << BackendName(kind);
    for (const Identity& adapter : seen.adapters) EXPECT_EQ(adapter.backend, kind);
  }
}

TEST(Registry, NamesAreReadBack) {
  for (const BackendKind kind :
       {BackendKind::kCpu, BackendKind::kCuda, BackendKind::kMetal, BackendKind::kVulkan}) {
    EXPECT_EQ(*ParseBackendName(BackendName(kind)), kind);
  }
  EXPECT_FALSE(ParseBackendName("CUDA").ok());
  EXPECT_FALSE(ParseBackendName("").ok());
}

TEST(Registry, ADeviceThatIsGoneIsUnavailable) {
  const auto device = OpenDevice({.backend = BackendKind::kCpu, .index = 3}, {});
  EXPECT_EQ(device.status().code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace keysieve::backends
