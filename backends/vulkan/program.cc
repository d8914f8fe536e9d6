// SPDX-License-Identifier: MIT
// Compiles SPIR-V.
#include "backends/vulkan/program.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <vector>

#include "evidence/base/status.h"

namespace keysieve::backends::vulkan {
namespace {

constexpr uint32_t kSpirvMagic = 0x07230203;
constexpr size_t kSpirvHeaderBytes = 20;

absl::Status CheckSpirv(const Image& image) {
  uint32_t magic = 0;
  if (image.code.size() >= kSpirvHeaderBytes) {
    std::memcpy(&magic, image.code.data(), sizeof magic);
  }
  if (magic == kSpirvMagic && image.code.size() % 4 == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      Cat("image \"", image.name, "\" of ", image.code.size(), " bytes is no SPIR-V module"));
}

absl::Status CheckBindings(const Image& image, const VkPhysicalDeviceLimits& limits) {
  const uint32_t most =
      std::min(limits.maxPerStageDescriptorStorageBuffers, limits.maxDescriptorSetStorageBuffers);
  if (image.bindings <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(
      Cat("image \"", image.name, "\" has ", image.bindings, " bindings; the device takes ", most));
}

}  // namespace

absl::StatusOr<std::unique_ptr<VulkanProgram>> VulkanProgram::Create(
    std::shared_ptr<Context> context, const PipelineCache& cache, const Image& image) {
  KS_RETURN_IF_ERROR(CheckSpirv(image));
  KS_RETURN_IF_ERROR(CheckBindings(image, context->properties().limits));
  std::unique_ptr<VulkanProgram> program(new VulkanProgram(std::move(context), image));
  KS_RETURN_IF_ERROR(program->MakeLayouts());
  KS_RETURN_IF_ERROR(program->MakePipeline(cache, image));
  return program;
}

VulkanProgram::VulkanProgram(std::shared_ptr<Context> context, const Image& image)
    : OwnedProgram(context.get(), image), context_(std::move(context)) {}

absl::Status VulkanProgram::MakeLayouts() {
  const Context& context = *context_;
  std::vector<VkDescriptorSetLayoutBinding> bindings;
  for (uint32_t i = 0; i < shape().bindings; ++i) {
    bindings.push_back({.binding = i,
                        .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                        .descriptorCount = 1,
                        .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT});
  }
  const VkDescriptorSetLayoutCreateInfo set_info{
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
      .bindingCount = shape().bindings,
      .pBindings = bindings.data()};
  VkDescriptorSetLayout set_layout = VK_NULL_HANDLE;
  KS_RETURN_IF_ERROR(context_->Check(
      context.fn().vkCreateDescriptorSetLayout(context.device(), &set_info, nullptr, &set_layout),
      "creating a descriptor layout"));
  set_layout_ =
      Handle<VkDescriptorSetLayout>(context, set_layout, context.fn().vkDestroyDescriptorSetLayout);
  const VkPushConstantRange constants{.stageFlags = VK_SHADER_STAGE_COMPUTE_BIT,
                                      .size = shape().constants * 4};
  const VkPipelineLayoutCreateInfo info{.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                        .setLayoutCount = 1,
                                        .pSetLayouts = &set_layout,
                                        .pushConstantRangeCount = shape().constants > 0 ? 1u : 0u,
                                        .pPushConstantRanges = &constants};
  VkPipelineLayout layout = VK_NULL_HANDLE;
  KS_RETURN_IF_ERROR(context_->Check(
      context.fn().vkCreatePipelineLayout(context.device(), &info, nullptr, &layout),
      "creating a pipeline layout"));
  layout_ = Handle<VkPipelineLayout>(context, layout, context.fn().vkDestroyPipelineLayout);
  return absl::OkStatus();
}

absl::Status VulkanProgram::MakePipeline(const PipelineCache& cache, const Image& image) {
  const Context& context = *context_;
  // Copied, because a span of bytes promises no alignment.
  std::vector<uint32_t> words(image.code.size() / 4);
  std::memcpy(words.data(), image.code.data(), image.code.size());
  const VkShaderModuleCreateInfo module_info{.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                             .codeSize = image.code.size(),
                                             .pCode = words.data()};
  VkShaderModule raw_module = VK_NULL_HANDLE;
  KS_RETURN_IF_ERROR(context_->Check(
      context.fn().vkCreateShaderModule(context.device(), &module_info, nullptr, &raw_module),
      "loading SPIR-V"));
  const Handle<VkShaderModule> module(context, raw_module, context.fn().vkDestroyShaderModule);

  const uint32_t values[] = {image.workgroup_size, std::max(image.shared_bytes / 4, 1u)};
  const VkSpecializationMapEntry entries[] = {{.constantID = 0, .offset = 0, .size = 4},
                                              {.constantID = 1, .offset = 4, .size = 4}};
  const VkSpecializationInfo specialization{
      .mapEntryCount = 2, .pMapEntries = entries, .dataSize = sizeof values, .pData = values};
  const std::string entry(image.entry);
  VkPipelineCreationFeedbackEXT feedback{}, stage_feedback{};
  const VkPipelineCreationFeedbackCreateInfoEXT feedback_info{
      .sType = VK_STRUCTURE_TYPE_PIPELINE_CREATION_FEEDBACK_CREATE_INFO_EXT,
      .pPipelineCreationFeedback = &feedback,
      .pipelineStageCreationFeedbackCount = 1,
      .pPipelineStageCreationFeedbacks = &stage_feedback};
  const VkComputePipelineCreateInfo info{
      .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
      .pNext = context.creation_feedback() ? &feedback_info : nullptr,
      .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                .module = module.get(),
                .pName = entry.c_str(),
                .pSpecializationInfo = &specialization},
      .layout = layout_.get()};
  VkPipeline pipeline = VK_NULL_HANDLE;
  const Clock::time_point begun = Clock::now();
  KS_RETURN_IF_ERROR(
      context_->Check(context.fn().vkCreateComputePipelines(context.device(), cache.handle(), 1,
                                                            &info, nullptr, &pipeline),
                      Cat("compiling \"", image.name, "\"")));
  pipeline_ = Handle<VkPipeline>(context, pipeline, context.fn().vkDestroyPipeline);
  if (context.recorder() == nullptr) return absl::OkStatus();
  context.recorder()->Compiled(static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - begun).count()));
  const bool told = (feedback.flags & VK_PIPELINE_CREATION_FEEDBACK_VALID_BIT_EXT) != 0;
  const bool hit =
      (feedback.flags & VK_PIPELINE_CREATION_FEEDBACK_APPLICATION_PIPELINE_CACHE_HIT_BIT_EXT) != 0;
  context.recorder()->PipelineCache(told ? hit : cache.warm());
  return absl::OkStatus();
}

}  // namespace keysieve::backends::vulkan
