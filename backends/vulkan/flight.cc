// SPDX-License-Identifier: MIT
// Records one submission's command buffers and reads its timestamps.
#include "backends/vulkan/flight.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "backends/check.h"
#include "backends/vulkan/memory.h"
#include "backends/vulkan/program.h"
#include "evidence/base/status.h"

namespace keysieve::backends::vulkan {
namespace {

constexpr VkAccessFlags kAnyAccess = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT;
constexpr VkAccessFlags kShaderAccess = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT;

VkBuffer HandleOf(const Buffer* buffer) {
  return static_cast<const VulkanBuffer*>(buffer)->handle();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Flight>> Flight::Create(std::shared_ptr<Context> context) {
  std::unique_ptr<Flight> flight(new Flight(std::move(context)));
  const Context& shared = *flight->context_;
  KS_RETURN_IF_ERROR(
      flight->MakeCommands(shared.compute(), flight->compute_pool_, flight->compute_commands_));
  if (shared.transfer()) {
    KS_RETURN_IF_ERROR(flight->MakeCommands(*shared.transfer(), flight->transfer_pool_,
                                            flight->transfer_commands_));
  }
  KS_RETURN_IF_ERROR(flight->MakeDescriptorPool());
  KS_RETURN_IF_ERROR(flight->MakeQueries());
  return flight;
}

absl::Status Flight::MakeCommands(const Queue& queue, Handle<VkCommandPool>& pool,
                                  VkCommandBuffer& commands) {
  const Context& context = *context_;
  const VkCommandPoolCreateInfo info{.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                     .flags = VK_COMMAND_POOL_CREATE_TRANSIENT_BIT,
                                     .queueFamilyIndex = queue.family.index};
  VkCommandPool raw = VK_NULL_HANDLE;
  KS_RETURN_IF_ERROR(
      context_->Check(context.fn().vkCreateCommandPool(context.device(), &info, nullptr, &raw),
                      "creating a command pool"));
  pool = Handle<VkCommandPool>(context, raw, context.fn().vkDestroyCommandPool);
  const VkCommandBufferAllocateInfo allocate{
      .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
      .commandPool = raw,
      .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
      .commandBufferCount = 1};
  return context_->Check(
      context.fn().vkAllocateCommandBuffers(context.device(), &allocate, &commands),
      "allocating a command buffer");
}

absl::Status Flight::MakeQueries() {
  const Context& context = *context_;
  if (!context.timestamps(context.compute().family)) return absl::OkStatus();
  const VkQueryPoolCreateInfo info{.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
                                   .queryType = VK_QUERY_TYPE_TIMESTAMP,
                                   .queryCount = 2 * kStages};
  VkQueryPool raw = VK_NULL_HANDLE;
  KS_RETURN_IF_ERROR(
      context_->Check(context.fn().vkCreateQueryPool(context.device(), &info, nullptr, &raw),
                      "creating timestamp queries"));
  queries_ = Handle<VkQueryPool>(context, raw, context.fn().vkDestroyQueryPool);
  return absl::OkStatus();
}

absl::Status Flight::MakeDescriptorPool() {
  const Context& context = *context_;
  const VkDescriptorPoolSize size{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, kMaxBindings};
  const VkDescriptorPoolCreateInfo info{.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                        .maxSets = 1,
                                        .poolSizeCount = 1,
                                        .pPoolSizes = &size};
  VkDescriptorPool raw = VK_NULL_HANDLE;
  KS_RETURN_IF_ERROR(
      context_->Check(context.fn().vkCreateDescriptorPool(context.device(), &info, nullptr, &raw),
                      "creating a descriptor pool"));
  descriptor_pool_ = Handle<VkDescriptorPool>(context, raw, context.fn().vkDestroyDescriptorPool);
  return absl::OkStatus();
}

absl::Status Flight::Begin(VkCommandPool pool, VkCommandBuffer commands) {
  const Context& context = *context_;
  KS_RETURN_IF_ERROR(context_->Check(context.fn().vkResetCommandPool(context.device(), pool, 0),
                                     "resetting a command pool"));
  const VkCommandBufferBeginInfo info{.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                      .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
  return context_->Check(context.fn().vkBeginCommandBuffer(commands, &info),
                         "beginning a command buffer");
}

absl::Status Flight::Record(const Submission& submission) {
  const Context& context = *context_;
  timed_ = {};
  uses_transfer_ = transfer_commands_ != VK_NULL_HANDLE &&
                   (!submission.fills.empty() || !submission.uploads.empty());
  if (queries_.get() != VK_NULL_HANDLE) {
    context.fn().vkResetQueryPool(context.device(), queries_.get(), 0, 2 * kStages);
  }
  KS_RETURN_IF_ERROR(Begin(compute_pool_.get(), compute_commands_));
  // What earlier flights wrote is seen by this one, whichever queue wrote it.
  Barrier(compute_commands_, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_ACCESS_MEMORY_WRITE_BIT,
          VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, kAnyAccess);
  if (uses_transfer_) {
    KS_RETURN_IF_ERROR(Begin(transfer_pool_.get(), transfer_commands_));
    RecordFillsAndUploads(transfer_commands_, submission,
                          context.timestamps(context.transfer()->family));
    KS_RETURN_IF_ERROR(context_->Check(context.fn().vkEndCommandBuffer(transfer_commands_),
                                       "ending a command buffer"));
  } else {
    RecordFillsAndUploads(compute_commands_, submission, true);
    Barrier(compute_commands_, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
            VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT,
            kShaderAccess | VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT);
  }
  if (submission.launch != nullptr) KS_RETURN_IF_ERROR(RecordLaunch(*submission.launch));
  RecordReadbacks(submission.readbacks);
  return context_->Check(context.fn().vkEndCommandBuffer(compute_commands_),
                         "ending a command buffer");
}

void Flight::RecordFillsAndUploads(VkCommandBuffer commands, const Submission& submission,
                                   bool timed) {
  bool filled = false;
  for (const Fill& fill : submission.fills) {
    if (fill.range.bytes == 0) continue;
    context_->fn().vkCmdFillBuffer(commands, HandleOf(fill.range.buffer), fill.range.offset,
                                   fill.range.bytes, fill.word);
    filled = true;
  }
  if (filled) {
    Barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
            VK_PIPELINE_STAGE_TRANSFER_BIT,
            VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT);
  }
  if (submission.uploads.empty()) return;
  if (timed) Tick(commands, kUpload, false);
  RecordCopies(commands, submission.uploads);
  if (timed) Tick(commands, kUpload, true);
}

absl::Status Flight::RecordLaunch(const Launch& launch) {
  const DeviceFunctions& fn = context_->fn();
  const auto& program = static_cast<const VulkanProgram&>(*launch.program);
  VkDescriptorSet set = VK_NULL_HANDLE;
  KS_RETURN_IF_ERROR(BindBuffers(launch, set));
  fn.vkCmdBindPipeline(compute_commands_, VK_PIPELINE_BIND_POINT_COMPUTE, program.pipeline());
  fn.vkCmdBindDescriptorSets(compute_commands_, VK_PIPELINE_BIND_POINT_COMPUTE, program.layout(), 0,
                             1, &set, 0, nullptr);
  if (!launch.constants.empty()) {
    fn.vkCmdPushConstants(compute_commands_, program.layout(), VK_SHADER_STAGE_COMPUTE_BIT, 0,
                          static_cast<uint32_t>(launch.constants.size_bytes()),
                          launch.constants.data());
  }
  Tick(compute_commands_, kKernel, false);
  fn.vkCmdDispatch(compute_commands_, launch.workgroups, 1, 1);
  Tick(compute_commands_, kKernel, true);
  Barrier(compute_commands_, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_WRITE_BIT,
          VK_PIPELINE_STAGE_TRANSFER_BIT | VK_PIPELINE_STAGE_HOST_BIT,
          VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_HOST_READ_BIT);
  return absl::OkStatus();
}

absl::Status Flight::BindBuffers(const Launch& launch, VkDescriptorSet& set) {
  const Context& context = *context_;
  const auto& program = static_cast<const VulkanProgram&>(*launch.program);
  KS_RETURN_IF_ERROR(context_->Check(
      context.fn().vkResetDescriptorPool(context.device(), descriptor_pool_.get(), 0),
      "resetting a descriptor pool"));
  const VkDescriptorSetLayout layout = program.set_layout();
  const VkDescriptorSetAllocateInfo info{.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                         .descriptorPool = descriptor_pool_.get(),
                                         .descriptorSetCount = 1,
                                         .pSetLayouts = &layout};
  KS_RETURN_IF_ERROR(
      context_->Check(context.fn().vkAllocateDescriptorSets(context.device(), &info, &set),
                      "allocating a descriptor set"));
  std::array<VkDescriptorBufferInfo, kMaxBindings> buffers{};
  std::array<VkWriteDescriptorSet, kMaxBindings> writes{};
  for (uint32_t i = 0; i < launch.bindings.size(); ++i) {
    const BufferRange& range = launch.bindings[i];
    buffers[i] = {HandleOf(range.buffer), range.offset, range.bytes};
    writes[i] = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                 .dstSet = set,
                 .dstBinding = i,
                 .descriptorCount = 1,
                 .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                 .pBufferInfo = &buffers[i]};
  }
  context.fn().vkUpdateDescriptorSets(
      context.device(), static_cast<uint32_t>(launch.bindings.size()), writes.data(), 0, nullptr);
  return absl::OkStatus();
}

void Flight::RecordReadbacks(std::span<const Copy> readbacks) {
  if (!readbacks.empty()) {
    Tick(compute_commands_, kReadback, false);
    RecordCopies(compute_commands_, readbacks);
    Tick(compute_commands_, kReadback, true);
  }
  // Also for uploads and fills that went to memory the host reads.
  Barrier(compute_commands_, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
          VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
}

bool Flight::RecordCopies(VkCommandBuffer commands, std::span<const Copy> copies) {
  bool any = false;
  for (const Copy& copy : copies) {
    if (copy.from.bytes == 0) continue;
    const VkBufferCopy region{copy.from.offset, copy.to.offset, copy.from.bytes};
    context_->fn().vkCmdCopyBuffer(commands, HandleOf(copy.from.buffer), HandleOf(copy.to.buffer),
                                   1, &region);
    any = true;
  }
  return any;
}

void Flight::Barrier(VkCommandBuffer commands, VkPipelineStageFlags from, VkAccessFlags written,
                     VkPipelineStageFlags to, VkAccessFlags used) {
  const VkMemoryBarrier barrier{
      .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER, .srcAccessMask = written, .dstAccessMask = used};
  context_->fn().vkCmdPipelineBarrier(commands, from, to, 0, 1, &barrier, 0, nullptr, 0, nullptr);
}

void Flight::Tick(VkCommandBuffer commands, Stage stage, bool end) {
  if (queries_.get() == VK_NULL_HANDLE) return;
  // At the bottom of the pipe, so that a begin is not earlier than the end of what came before.
  context_->fn().vkCmdWriteTimestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, queries_.get(),
                                     2 * stage + (end ? 1 : 0));
  timed_[stage] = true;
}

absl::StatusOr<StageTimes> Flight::ReadTimes(OverlapTracker::Work& work) const {
  const Context& context = *context_;
  const double period = context.properties().limits.timestampPeriod;
  StageTimes times;
  const auto read = [&](Stage stage, const QueueFamily& family,
                        std::optional<uint64_t>& ns) -> absl::StatusOr<std::optional<Interval>> {
    if (!timed_[stage]) return std::optional<Interval>();
    uint64_t ticks[2] = {};
    KS_RETURN_IF_ERROR(
        context_->Check(context.fn().vkGetQueryPoolResults(context.device(), queries_.get(),
                                                           2 * stage, 2, sizeof ticks, ticks,
                                                           sizeof ticks[0], VK_QUERY_RESULT_64_BIT),
                        "reading timestamps"));
    const uint64_t mask = family.timestamp_bits >= 64 ? ~0ull : (1ull << family.timestamp_bits) - 1;
    ns = static_cast<uint64_t>(std::floor(((ticks[1] - ticks[0]) & mask) * period));
    const auto begin = static_cast<uint64_t>(std::floor((ticks[0] & mask) * period));
    return std::optional(Interval{begin, begin + *ns});
  };
  const QueueFamily& compute = context.compute().family;
  const QueueFamily& uploads = uses_transfer_ ? context.transfer()->family : compute;
  KS_ASSIGN_OR_RETURN(const auto upload, read(kUpload, uploads, times.upload_ns));
  KS_ASSIGN_OR_RETURN(work.kernel, read(kKernel, compute, times.kernel_ns));
  KS_ASSIGN_OR_RETURN(const auto readback, read(kReadback, compute, times.readback_ns));
  for (const std::optional<Interval>& copy : {upload, readback}) {
    if (copy) work.copies.push_back(*copy);
  }
  return times;
}

}  // namespace keysieve::backends::vulkan
