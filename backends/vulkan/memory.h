// SPDX-License-Identifier: MIT
// Buffers with memory of their own. Real allocation sizes go to the recorder, at the start and at
// the end.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "backends/owned.h"
#include "backends/vulkan/context.h"

namespace keysieve::backends::vulkan {

class VulkanBuffer final : public OwnedBuffer {
 public:
  static absl::StatusOr<std::unique_ptr<VulkanBuffer>> Create(std::shared_ptr<Context> context,
                                                              MemoryKind kind, uint64_t bytes);
  ~VulkanBuffer() override;

  std::byte* host() const override { return host_; }
  VkBuffer handle() const { return buffer_.get(); }

 private:
  VulkanBuffer(std::shared_ptr<Context> context, MemoryKind kind, uint64_t bytes);
  absl::Status MakeBuffer();
  absl::Status MakeMemory();

  const std::shared_ptr<Context> context_;
  std::shared_ptr<MemoryBudget> budget_;
  uint64_t allocated_ = 0;  // bytes taken from the driver; 0 until then
  Handle<VkDeviceMemory> memory_;
  Handle<VkBuffer> buffer_;  // destroyed before its memory is freed
  std::byte* host_ = nullptr;
};

}  // namespace keysieve::backends::vulkan
