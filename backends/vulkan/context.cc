// SPDX-License-Identifier: MIT
// Opens a logical device with what this backend uses of it, and reads its limits.
#include "backends/vulkan/context.h"

#include <algorithm>
#include <array>

#include "backends/vulkan/errors.h"
#include "evidence/base/status.h"

namespace keysieve::backends::vulkan {

absl::StatusOr<std::shared_ptr<Context>> Context::Create(std::shared_ptr<Instance> instance,
                                                         const Adapter& adapter,
                                                         evidence::DeviceRecorder* recorder) {
  std::shared_ptr<Context> context(new Context(std::move(instance), adapter, recorder));
  context->ReadProperties();
  context->ReadMemory();
  KS_RETURN_IF_ERROR(context->Open());
  return context;
}

Context::Context(std::shared_ptr<Instance> instance, const Adapter& adapter,
                 evidence::DeviceRecorder* recorder)
    : instance_(std::move(instance)),
      physical_(adapter.handle),
      identity_(adapter.identity),
      recorder_(recorder),
      faults_(recorder) {}

Context::~Context() {
  if (device_ != VK_NULL_HANDLE && fn_.vkDestroyDevice != nullptr && !abandoned_) {
    fn_.vkDestroyDevice(device_, nullptr);
  }
}

void Context::ReadProperties() {
  VkPhysicalDeviceSubgroupProperties subgroup{
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES};
  VkPhysicalDeviceMaintenance3Properties sizes{
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES, .pNext = &subgroup};
  VkPhysicalDeviceProperties2 properties{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
                                         .pNext = &sizes};
  instance_->functions().vkGetPhysicalDeviceProperties2(physical_, &properties);
  properties_ = properties.properties;
  const VkPhysicalDeviceLimits& device = properties_.limits;
  limits_.max_buffer_bytes =
      std::min<uint64_t>(device.maxStorageBufferRange, sizes.maxMemoryAllocationSize);
  limits_.max_workgroups = device.maxComputeWorkGroupCount[0];
  limits_.max_workgroup_size =
      std::min(device.maxComputeWorkGroupSize[0], device.maxComputeWorkGroupInvocations);
  limits_.shared_memory_bytes = device.maxComputeSharedMemorySize;
  limits_.subgroup_size = subgroup.subgroupSize;
  constexpr VkSubgroupFeatureFlags kOperations = VK_SUBGROUP_FEATURE_BASIC_BIT |
                                                 VK_SUBGROUP_FEATURE_ARITHMETIC_BIT |
                                                 VK_SUBGROUP_FEATURE_BALLOT_BIT;
  limits_.subgroup_operations = (subgroup.supportedStages & VK_SHADER_STAGE_COMPUTE_BIT) != 0 &&
                                (subgroup.supportedOperations & kOperations) == kOperations;
  limits_.offset_alignment = std::max<uint64_t>(4, device.minStorageBufferOffsetAlignment);
}

void Context::ReadMemory() {
  instance_->functions().vkGetPhysicalDeviceMemoryProperties(physical_, &memory_);
  for (uint32_t i = 0; i < memory_.memoryHeapCount; ++i) {
    const VkMemoryHeap& heap = memory_.memoryHeaps[i];
    budgets_.push_back(std::make_shared<MemoryBudget>(heap.size));
    if ((heap.flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) != 0) {
      limits_.memory_bytes = std::max(limits_.memory_bytes, heap.size);
    }
  }
}

absl::Status Context::Open() {
  const InstanceFunctions& look = instance_->functions();
  const std::optional<QueueFamilies> families = FindQueues(look, physical_);
  if (!families) return absl::UnavailableError(Cat(identity_.name, " has no compute queue"));
  VkPhysicalDeviceVulkan12Features offered{
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES};
  VkPhysicalDeviceFeatures2 features{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
                                     .pNext = &offered};
  look.vkGetPhysicalDeviceFeatures2(physical_, &features);
  host_query_reset_ = offered.hostQueryReset != VK_FALSE;
  creation_feedback_ =
      instance_->HasExtension(physical_, VK_EXT_PIPELINE_CREATION_FEEDBACK_EXTENSION_NAME);
  comparable_timestamps_ =
      instance_->HasExtension(physical_, VK_EXT_CALIBRATED_TIMESTAMPS_EXTENSION_NAME);

  const float priority = 1.0f;
  std::vector<VkDeviceQueueCreateInfo> queues;
  const auto ask_for = [&](const QueueFamily& family) {
    queues.push_back({.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                      .queueFamilyIndex = family.index,
                      .queueCount = 1,
                      .pQueuePriorities = &priority});
  };
  ask_for(families->compute);
  if (families->transfer) ask_for(*families->transfer);
  const VkPhysicalDeviceVulkan12Features wanted{
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
      .hostQueryReset = offered.hostQueryReset,
      .timelineSemaphore = VK_TRUE};
  const char* feedback = VK_EXT_PIPELINE_CREATION_FEEDBACK_EXTENSION_NAME;
  const VkDeviceCreateInfo info{.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                .pNext = const_cast<VkPhysicalDeviceVulkan12Features*>(&wanted),
                                .queueCreateInfoCount = static_cast<uint32_t>(queues.size()),
                                .pQueueCreateInfos = queues.data(),
                                .enabledExtensionCount = creation_feedback_ ? 1u : 0u,
                                .ppEnabledExtensionNames = &feedback};
  KS_RETURN_IF_ERROR(StatusOf(look.vkCreateDevice(physical_, &info, nullptr, &device_),
                              Cat("opening ", identity_.name)));
  KS_ASSIGN_OR_RETURN(fn_, LoadDeviceFunctions(look, device_));
  compute_.family = families->compute;
  fn_.vkGetDeviceQueue(device_, compute_.family.index, 0, &compute_.handle);
  if (families->transfer) {
    transfer_ = Queue{VK_NULL_HANDLE, *families->transfer};
    fn_.vkGetDeviceQueue(device_, transfer_->family.index, 0, &transfer_->handle);
  }
  return absl::OkStatus();
}

absl::StatusOr<Context::MemoryType> Context::FindMemory(MemoryKind kind, uint32_t allowed) const {
  constexpr VkMemoryPropertyFlags kHost =
      VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  constexpr VkMemoryPropertyFlags kLocal = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
  // What it must have and what it had better not have, best first. Cached, because hosts read hits.
  struct Wish {
    VkMemoryPropertyFlags with;
    VkMemoryPropertyFlags without;
  };
  constexpr std::array<Wish, 3> kPinned = {{{kHost | VK_MEMORY_PROPERTY_HOST_CACHED_BIT, kLocal},
                                            {kHost | VK_MEMORY_PROPERTY_HOST_CACHED_BIT, 0},
                                            {kHost, 0}}};
  constexpr std::array<Wish, 3> kDevice = {
      {{kLocal, VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT}, {kLocal, 0}, {0, 0}}};
  for (const Wish& wish : kind == MemoryKind::kPinned ? kPinned : kDevice) {
    for (uint32_t i = 0; i < memory_.memoryTypeCount; ++i) {
      const VkMemoryType& type = memory_.memoryTypes[i];
      if ((allowed >> i & 1) != 0 && (type.propertyFlags & wish.with) == wish.with &&
          (type.propertyFlags & wish.without) == 0) {
        return MemoryType{i, budgets_[type.heapIndex]};
      }
    }
  }
  return absl::UnimplementedError(Cat(identity_.name, " offers no memory the host can write"));
}

absl::Status Context::Check(VkResult result, std::string_view what) {
  if (result == VK_SUCCESS) return absl::OkStatus();
  return faults_.Record(FaultOf(result), StatusOf(result, Cat(what, " on ", identity_.name)));
}

absl::Status Context::RecordOutOfMemory(absl::Status status) {
  return faults_.Record(evidence::FaultKind::kOutOfMemory, std::move(status));
}

void Context::Abandon() {
  abandoned_ = true;
  instance_->Leave();
}

}  // namespace keysieve::backends::vulkan
