// SPDX-License-Identifier: MIT
// Starts an instance and, when asked to, listens to the validation layer.
#include "backends/vulkan/instance.h"

#include <cstdio>
#include <cstring>

#include "backends/vulkan/errors.h"
#include "evidence/base/status.h"

namespace keysieve::backends::vulkan {
namespace {

constexpr const char* kValidationLayer = "VK_LAYER_KHRONOS_validation";

VKAPI_ATTR VkBool32 VKAPI_CALL OnMessage(VkDebugUtilsMessageSeverityFlagBitsEXT,
                                         VkDebugUtilsMessageTypeFlagsEXT,
                                         const VkDebugUtilsMessengerCallbackDataEXT* data,
                                         void* counter) {
  static_cast<std::atomic<uint64_t>*>(counter)->fetch_add(1);
  std::fprintf(stderr, "vulkan validation error: %s\n", data->pMessage);
  return VK_FALSE;
}

bool HasLayer(const GlobalFunctions& global, const char* name) {
  uint32_t count = 0;
  global.vkEnumerateInstanceLayerProperties(&count, nullptr);
  std::vector<VkLayerProperties> layers(count);
  global.vkEnumerateInstanceLayerProperties(&count, layers.data());
  for (const VkLayerProperties& layer : layers) {
    if (std::strcmp(layer.layerName, name) == 0) return true;
  }
  return false;
}

}  // namespace

absl::StatusOr<std::shared_ptr<Instance>> Instance::Create(const InstanceOptions& options) {
  std::shared_ptr<Instance> instance(new Instance);
  KS_RETURN_IF_ERROR(instance->Start(options));
  return instance;
}

absl::Status Instance::Start(const InstanceOptions& options) {
  KS_ASSIGN_OR_RETURN(global_, LoadLoader());
  if (options.validate && !HasLayer(global_, kValidationLayer)) {
    return absl::UnavailableError(
        Cat("KEYSIEVE_VULKAN_VALIDATE is set but ", kValidationLayer, " is not installed"));
  }
  VkApplicationInfo application{.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                .pApplicationName = "keysieve",
                                .apiVersion = VK_API_VERSION_1_2};
  const char* debug_utils = VK_EXT_DEBUG_UTILS_EXTENSION_NAME;
  const uint32_t checked = options.validate ? 1 : 0;
  const VkInstanceCreateInfo info{.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                  .pApplicationInfo = &application,
                                  .enabledLayerCount = checked,
                                  .ppEnabledLayerNames = &kValidationLayer,
                                  .enabledExtensionCount = checked,
                                  .ppEnabledExtensionNames = &debug_utils};
  KS_RETURN_IF_ERROR(StatusOf(global_.vkCreateInstance(&info, nullptr, &handle_),
                              "no Vulkan driver: creating an instance"));
  KS_ASSIGN_OR_RETURN(functions_, LoadInstanceFunctions(global_, handle_));
  if (options.validate) Listen();
  return absl::OkStatus();
}

void Instance::Listen() {
  if (functions_.vkCreateDebugUtilsMessengerEXT == nullptr) return;
  const VkDebugUtilsMessengerCreateInfoEXT info{
      .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT,
      .messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT,
      .messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT,
      .pfnUserCallback = OnMessage,
      .pUserData = &validation_errors_};
  functions_.vkCreateDebugUtilsMessengerEXT(handle_, &info, nullptr, &messenger_);
}

Instance::~Instance() {
  if (left_ || functions_.vkDestroyInstance == nullptr) return;
  if (messenger_ != VK_NULL_HANDLE) {
    functions_.vkDestroyDebugUtilsMessengerEXT(handle_, messenger_, nullptr);
  }
  functions_.vkDestroyInstance(handle_, nullptr);
}

}  // namespace keysieve::backends::vulkan
