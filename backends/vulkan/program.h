// SPDX-License-Identifier: MIT
// A SPIR-V program as a compute pipeline: storage buffers 0..bindings-1 of set 0, constants as push
// constants, specialization constant 0 as the workgroup size, 1 as the words of shared memory.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "backends/owned.h"
#include "backends/vulkan/context.h"
#include "backends/vulkan/pipeline_cache.h"

namespace keysieve::backends::vulkan {

class VulkanProgram final : public OwnedProgram {
 public:
  // Compiles, and tells the recorder how long it took and whether the cache had it.
  static absl::StatusOr<std::unique_ptr<VulkanProgram>> Create(std::shared_ptr<Context> context,
                                                               const PipelineCache& cache,
                                                               const Image& image);

  VkPipeline pipeline() const { return pipeline_.get(); }
  VkPipelineLayout layout() const { return layout_.get(); }
  VkDescriptorSetLayout set_layout() const { return set_layout_.get(); }

 private:
  VulkanProgram(std::shared_ptr<Context> context, const Image& image);
  absl::Status MakeLayouts();
  absl::Status MakePipeline(const PipelineCache& cache, const Image& image);

  const std::shared_ptr<Context> context_;
  Handle<VkDescriptorSetLayout> set_layout_;
  Handle<VkPipelineLayout> layout_;
  Handle<VkPipeline> pipeline_;
};

}  // namespace keysieve::backends::vulkan
