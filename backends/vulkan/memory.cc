// SPDX-License-Identifier: MIT
// Allocates a buffer, its memory and, for pinned memory, its mapping.
#include "backends/vulkan/memory.h"

#include <utility>

#include "evidence/base/status.h"

namespace keysieve::backends::vulkan {

absl::StatusOr<std::unique_ptr<VulkanBuffer>> VulkanBuffer::Create(std::shared_ptr<Context> context,
                                                                   MemoryKind kind,
                                                                   uint64_t bytes) {
  std::unique_ptr<VulkanBuffer> buffer(new VulkanBuffer(std::move(context), kind, bytes));
  KS_RETURN_IF_ERROR(buffer->MakeBuffer());
  KS_RETURN_IF_ERROR(buffer->MakeMemory());
  return buffer;
}

VulkanBuffer::VulkanBuffer(std::shared_ptr<Context> context, MemoryKind kind, uint64_t bytes)
    : OwnedBuffer(context.get(), kind, bytes), context_(std::move(context)) {}

VulkanBuffer::~VulkanBuffer() {
  if (allocated_ == 0 || context_->abandoned()) return;
  budget_->GiveBack(allocated_);
  if (memory_.get() != VK_NULL_HANDLE && context_->recorder() != nullptr) {
    context_->recorder()->Freed(allocated_);
  }
}

absl::Status VulkanBuffer::MakeBuffer() {
  const Context& context = *context_;
  const uint32_t families[] = {context.compute().family.index,
                               context.transfer() ? context.transfer()->family.index : 0};
  const bool shared = context.transfer().has_value();
  const VkBufferCreateInfo info{
      .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
      .size = size(),
      .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
               VK_BUFFER_USAGE_TRANSFER_DST_BIT,
      .sharingMode = shared ? VK_SHARING_MODE_CONCURRENT : VK_SHARING_MODE_EXCLUSIVE,
      .queueFamilyIndexCount = shared ? 2u : 0u,
      .pQueueFamilyIndices = shared ? families : nullptr};
  VkBuffer buffer = VK_NULL_HANDLE;
  KS_RETURN_IF_ERROR(
      context_->Check(context.fn().vkCreateBuffer(context.device(), &info, nullptr, &buffer),
                      Cat("creating a buffer of ", size(), " bytes")));
  buffer_ = Handle<VkBuffer>(context, buffer, context.fn().vkDestroyBuffer);
  return absl::OkStatus();
}

absl::Status VulkanBuffer::MakeMemory() {
  const Context& context = *context_;
  VkMemoryRequirements needs{};
  context.fn().vkGetBufferMemoryRequirements(context.device(), buffer_.get(), &needs);
  KS_ASSIGN_OR_RETURN(const auto type, context.FindMemory(kind(), needs.memoryTypeBits));
  if (absl::Status taken = type.budget->Take(needs.size); !taken.ok()) {
    return context_->RecordOutOfMemory(std::move(taken));
  }
  budget_ = type.budget;
  allocated_ = needs.size;
  const VkMemoryAllocateInfo info{.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                  .allocationSize = needs.size,
                                  .memoryTypeIndex = type.index};
  VkDeviceMemory memory = VK_NULL_HANDLE;
  KS_RETURN_IF_ERROR(
      context_->Check(context.fn().vkAllocateMemory(context.device(), &info, nullptr, &memory),
                      Cat("allocating ", needs.size, " bytes")));
  memory_ = Handle<VkDeviceMemory>(context, memory, context.fn().vkFreeMemory);
  if (context.recorder() != nullptr) context.recorder()->Allocated(allocated_);
  KS_RETURN_IF_ERROR(
      context_->Check(context.fn().vkBindBufferMemory(context.device(), buffer_.get(), memory, 0),
                      "binding memory"));
  if (kind() != MemoryKind::kPinned) return absl::OkStatus();
  void* mapped = nullptr;
  KS_RETURN_IF_ERROR(context_->Check(
      context.fn().vkMapMemory(context.device(), memory, 0, VK_WHOLE_SIZE, 0, &mapped),
      "mapping memory"));
  host_ = static_cast<std::byte*>(mapped);
  return absl::OkStatus();
}

}  // namespace keysieve::backends::vulkan
