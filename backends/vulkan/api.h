// SPDX-License-Identifier: MIT
// The Vulkan functions this backend calls, as tables filled at run time. Nothing links libvulkan: a
// binary starts where there is no loader and says so.
#pragma once

#define VK_NO_PROTOTYPES
#include <vulkan/vulkan.h>

#include <memory>

#include "absl/status/statusor.h"

namespace keysieve::backends::vulkan {

#define KS_VK_INSTANCE_FUNCTIONS(X)           \
  X(vkDestroyInstance)                        \
  X(vkEnumeratePhysicalDevices)               \
  X(vkGetPhysicalDeviceProperties2)           \
  X(vkGetPhysicalDeviceFeatures2)             \
  X(vkGetPhysicalDeviceMemoryProperties)      \
  X(vkGetPhysicalDeviceQueueFamilyProperties) \
  X(vkEnumerateDeviceExtensionProperties)     \
  X(vkCreateDevice)                           \
  X(vkGetDeviceProcAddr)

#define KS_VK_DEVICE_FUNCTIONS(X)  \
  X(vkDestroyDevice)               \
  X(vkGetDeviceQueue)              \
  X(vkDeviceWaitIdle)              \
  X(vkQueueSubmit)                 \
  X(vkQueueWaitIdle)               \
  X(vkCreateBuffer)                \
  X(vkDestroyBuffer)               \
  X(vkGetBufferMemoryRequirements) \
  X(vkAllocateMemory)              \
  X(vkFreeMemory)                  \
  X(vkBindBufferMemory)            \
  X(vkMapMemory)                   \
  X(vkCreateShaderModule)          \
  X(vkDestroyShaderModule)         \
  X(vkCreateDescriptorSetLayout)   \
  X(vkDestroyDescriptorSetLayout)  \
  X(vkCreatePipelineLayout)        \
  X(vkDestroyPipelineLayout)       \
  X(vkCreateComputePipelines)      \
  X(vkDestroyPipeline)             \
  X(vkCreatePipelineCache)         \
  X(vkDestroyPipelineCache)        \
  X(vkGetPipelineCacheData)        \
  X(vkCreateDescriptorPool)        \
  X(vkDestroyDescriptorPool)       \
  X(vkResetDescriptorPool)         \
  X(vkAllocateDescriptorSets)      \
  X(vkUpdateDescriptorSets)        \
  X(vkCreateCommandPool)           \
  X(vkDestroyCommandPool)          \
  X(vkResetCommandPool)            \
  X(vkAllocateCommandBuffers)      \
  X(vkBeginCommandBuffer)          \
  X(vkEndCommandBuffer)            \
  X(vkCmdFillBuffer)               \
  X(vkCmdCopyBuffer)               \
  X(vkCmdPipelineBarrier)          \
  X(vkCmdBindPipeline)             \
  X(vkCmdBindDescriptorSets)       \
  X(vkCmdPushConstants)            \
  X(vkCmdDispatch)                 \
  X(vkCmdWriteTimestamp)           \
  X(vkCreateQueryPool)             \
  X(vkDestroyQueryPool)            \
  X(vkResetQueryPool)              \
  X(vkGetQueryPoolResults)         \
  X(vkCreateSemaphore)             \
  X(vkDestroySemaphore)            \
  X(vkGetSemaphoreCounterValue)    \
  X(vkWaitSemaphores)

#define KS_VK_MEMBER(name) PFN_##name name = nullptr;

struct GlobalFunctions {
  PFN_vkGetInstanceProcAddr vkGetInstanceProcAddr = nullptr;
  PFN_vkCreateInstance vkCreateInstance = nullptr;
  PFN_vkEnumerateInstanceVersion vkEnumerateInstanceVersion = nullptr;
  PFN_vkEnumerateInstanceLayerProperties vkEnumerateInstanceLayerProperties = nullptr;
};
struct InstanceFunctions {
  KS_VK_INSTANCE_FUNCTIONS(KS_VK_MEMBER)
  PFN_vkCreateDebugUtilsMessengerEXT vkCreateDebugUtilsMessengerEXT = nullptr;    // may stay null
  PFN_vkDestroyDebugUtilsMessengerEXT vkDestroyDebugUtilsMessengerEXT = nullptr;  // may stay null
};
struct DeviceFunctions {
  KS_VK_DEVICE_FUNCTIONS(KS_VK_MEMBER)
};

#undef KS_VK_MEMBER

// UNAVAILABLE with the dynamic linker's reason if there is no loader. The library stays loaded.
absl::StatusOr<GlobalFunctions> LoadLoader();
// UNAVAILABLE names the function a driver lacks.
absl::StatusOr<InstanceFunctions> LoadInstanceFunctions(const GlobalFunctions& global,
                                                        VkInstance instance);
absl::StatusOr<DeviceFunctions> LoadDeviceFunctions(const InstanceFunctions& instance,
                                                    VkDevice device);

}  // namespace keysieve::backends::vulkan
