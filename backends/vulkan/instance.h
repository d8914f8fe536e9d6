// SPDX-License-Identifier: MIT
// A Vulkan instance and the adapters it shows. Shared by the devices opened from it; there is no
// global one. Loading, enumerating and looking record nothing.
//
//   auto instance = Instance::Create({});
//   for (const Adapter& adapter : *(*instance)->Adapters()) ...
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "backends/device.h"
#include "backends/vulkan/api.h"

namespace keysieve::backends::vulkan {

struct InstanceOptions {
  bool validate = false;  // run under VK_LAYER_KHRONOS_validation; errors are printed and counted
};

// One physical device that this backend can use.
struct Adapter {
  VkPhysicalDevice handle = VK_NULL_HANDLE;
  Identity identity;
};

class Instance {
 public:
  // UNAVAILABLE if there is no loader, no driver or, when asked for, no validation layer.
  static absl::StatusOr<std::shared_ptr<Instance>> Create(const InstanceOptions& options);
  ~Instance();
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;

  const InstanceFunctions& functions() const { return functions_; }

  // Those with Vulkan 1.2, a compute queue and timeline semaphores. `identity.index` is the
  // position in the driver's own list. `passed_over` receives a reason for each of the others.
  absl::StatusOr<std::vector<Adapter>> Adapters(std::string& passed_over) const;
  bool HasExtension(VkPhysicalDevice device, std::string_view name) const;

  // Messages of the validation layer so far; 0 without it.
  uint64_t validation_errors() const { return validation_errors_.load(); }
  // The destructor then leaves the instance be.
  void Leave() { left_ = true; }

 private:
  Instance() = default;
  absl::Status Start(const InstanceOptions& options);
  void Listen();
  std::string WhyUnfit(VkPhysicalDevice device) const;
  Identity Describe(VkPhysicalDevice device, int index) const;

  GlobalFunctions global_;
  VkInstance handle_ = VK_NULL_HANDLE;
  InstanceFunctions functions_;
  VkDebugUtilsMessengerEXT messenger_ = VK_NULL_HANDLE;
  std::atomic<uint64_t> validation_errors_{0};
  bool left_ = false;
};

}  // namespace keysieve::backends::vulkan
