// SPDX-License-Identifier: MIT
// The Vulkan backend's entry in the registry. KEYSIEVE_VULKAN_VALIDATE=1 runs everything under the
// validation layer, for tests.
#include <cstdlib>
#include <string>
#include <string_view>

#include "backends/entry.h"
#include "backends/vulkan/instance.h"
#include "backends/vulkan/vulkan_device.h"
#include "evidence/base/status.h"

namespace keysieve::backends {
namespace {

vulkan::InstanceOptions OptionsFromEnvironment() {
  const char* validate = std::getenv("KEYSIEVE_VULKAN_VALIDATE");
  return {.validate = validate != nullptr && std::string_view(validate) == "1"};
}

absl::StatusOr<ProbeResult> Look() {
  KS_ASSIGN_OR_RETURN(const auto instance, vulkan::Instance::Create(OptionsFromEnvironment()));
  ProbeResult result;
  KS_ASSIGN_OR_RETURN(const auto adapters, instance->Adapters(result.reason));
  for (const vulkan::Adapter& adapter : adapters) result.adapters.push_back(adapter.identity);
  if (!result.adapters.empty()) {
    result.reason.clear();
  } else if (result.reason.empty()) {
    result.reason = "the Vulkan drivers here show no device";
  }
  return result;
}

ProbeResult Probe() {
  absl::StatusOr<ProbeResult> seen = Look();
  return seen.ok() ? *std::move(seen) : ProbeResult{{}, Message(seen.status())};
}

absl::StatusOr<std::unique_ptr<Device>> Open(const Identity& identity, const OpenOptions& options) {
  KS_ASSIGN_OR_RETURN(auto instance, vulkan::Instance::Create(OptionsFromEnvironment()));
  std::string passed_over;
  KS_ASSIGN_OR_RETURN(const auto adapters, instance->Adapters(passed_over));
  for (const vulkan::Adapter& adapter : adapters) {
    const bool same = identity.uuid.empty() ? adapter.identity.index == identity.index
                                            : adapter.identity.uuid == identity.uuid &&
                                                  adapter.identity.name == identity.name;
    if (same) return vulkan::OpenVulkanDevice(std::move(instance), adapter, options);
  }
  return absl::UnavailableError(Cat("vulkan device ", identity.index, " (", identity.name,
                                    ") is no longer there; probe again"));
}

}  // namespace

BackendEntry VulkanEntry() {
  return {.kind = BackendKind::kVulkan, .built = true, .probe = Probe, .open = Open};
}

}  // namespace keysieve::backends
