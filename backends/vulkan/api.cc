// SPDX-License-Identifier: MIT
// Finds the Vulkan loader and fills the function tables.
#include "backends/vulkan/api.h"

#include <dlfcn.h>

#include "evidence/base/status.h"

namespace keysieve::backends::vulkan {

absl::StatusOr<GlobalFunctions> LoadLoader() {
  // Drivers start threads and register exit handlers of their own: the loader is never unloaded.
  void* library = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) {
    return absl::UnavailableError(Cat("no Vulkan loader: ", dlerror()));
  }
  GlobalFunctions global;
  global.vkGetInstanceProcAddr =
      reinterpret_cast<PFN_vkGetInstanceProcAddr>(dlsym(library, "vkGetInstanceProcAddr"));
  if (global.vkGetInstanceProcAddr == nullptr) {
    return absl::UnavailableError("libvulkan.so.1 has no vkGetInstanceProcAddr");
  }
  const auto find = [&](const char* name) { return global.vkGetInstanceProcAddr(nullptr, name); };
  global.vkCreateInstance = reinterpret_cast<PFN_vkCreateInstance>(find("vkCreateInstance"));
  global.vkEnumerateInstanceVersion =
      reinterpret_cast<PFN_vkEnumerateInstanceVersion>(find("vkEnumerateInstanceVersion"));
  global.vkEnumerateInstanceLayerProperties =
      reinterpret_cast<PFN_vkEnumerateInstanceLayerProperties>(
          find("vkEnumerateInstanceLayerProperties"));
  if (global.vkCreateInstance == nullptr || global.vkEnumerateInstanceVersion == nullptr ||
      global.vkEnumerateInstanceLayerProperties == nullptr) {
    return absl::UnavailableError("the Vulkan loader is older than Vulkan 1.1; 1.2 is needed");
  }
  return global;
}

#define KS_VK_FILL(name)                                                    \
  table.name = reinterpret_cast<PFN_##name>(find(#name));                   \
  if (table.name == nullptr) {                                              \
    return absl::UnavailableError(Cat("the Vulkan driver has no ", #name)); \
  }

absl::StatusOr<InstanceFunctions> LoadInstanceFunctions(const GlobalFunctions& global,
                                                        VkInstance instance) {
  const auto find = [&](const char* name) { return global.vkGetInstanceProcAddr(instance, name); };
  InstanceFunctions table;
  KS_VK_INSTANCE_FUNCTIONS(KS_VK_FILL)
  table.vkCreateDebugUtilsMessengerEXT =
      reinterpret_cast<PFN_vkCreateDebugUtilsMessengerEXT>(find("vkCreateDebugUtilsMessengerEXT"));
  table.vkDestroyDebugUtilsMessengerEXT = reinterpret_cast<PFN_vkDestroyDebugUtilsMessengerEXT>(
      find("vkDestroyDebugUtilsMessengerEXT"));
  return table;
}

absl::StatusOr<DeviceFunctions> LoadDeviceFunctions(const InstanceFunctions& instance,
                                                    VkDevice device) {
  const auto find = [&](const char* name) { return instance.vkGetDeviceProcAddr(device, name); };
  DeviceFunctions table;
  KS_VK_DEVICE_FUNCTIONS(KS_VK_FILL)
  return table;
}

#undef KS_VK_FILL

}  // namespace keysieve::backends::vulkan
