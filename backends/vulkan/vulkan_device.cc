// SPDX-License-Identifier: MIT
// Submissions, tickets and waits on Vulkan.
#include "backends/vulkan/vulkan_device.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "backends/check.h"
#include "backends/overlap.h"
#include "backends/vulkan/context.h"
#include "backends/vulkan/errors.h"
#include "backends/vulkan/flight.h"
#include "backends/vulkan/memory.h"
#include "backends/vulkan/pipeline_cache.h"
#include "backends/vulkan/program.h"
#include "backends/vulkan/timeline.h"
#include "evidence/base/status.h"

namespace keysieve::backends::vulkan {
namespace {

class VulkanDevice final : public Device {
 public:
  VulkanDevice(std::shared_ptr<Context> context, PipelineCache cache, Timeline done,
               Timeline uploaded)
      : context_(std::move(context)),
        cache_(std::move(cache)),
        done_(std::move(done)),
        uploaded_(std::move(uploaded)) {
    capabilities_.kernel_timestamps = context_->timestamps(context_->compute().family);
  }
  ~VulkanDevice() override {
    if (!context_->abandoned()) context_->fn().vkDeviceWaitIdle(context_->device());
  }

  const Identity& identity() const override { return context_->identity(); }
  const Limits& limits() const override { return context_->limits(); }
  const Capabilities& capabilities() const override { return capabilities_; }
  Health health() const override {
    return context_->lost() || context_->abandoned() ? Health::kLost : Health::kHealthy;
  }

  absl::StatusOr<std::unique_ptr<Buffer>> Allocate(MemoryKind kind, uint64_t bytes) override;
  absl::StatusOr<std::unique_ptr<Program>> Load(const Image& image) override;
  absl::StatusOr<Ticket> Submit(const Submission& submission) override;
  bool Done(Ticket ticket) override;
  absl::StatusOr<StageTimes> Wait(Ticket ticket, Clock::time_point deadline) override;
  absl::StatusOr<Sample> ReadSample() override;
  absl::StatusOr<Ticket> StartResident(const Launch&) override { return NoResidentKernels(); }
  absl::StatusOr<Ticket> CopyThenWriteWord(std::span<const Copy>, BufferRange, uint32_t) override {
    return NoResidentKernels();
  }
  void Abandon() override;

 private:
  absl::Status Usable() const;
  absl::StatusOr<std::unique_ptr<Flight>> TakeFlight();
  absl::Status Enqueue(const Flight& flight, Ticket ticket);
  absl::Status EnqueueUploads(const Flight& flight, Ticket ticket);
  void SeeCompleted(uint64_t value);
  absl::StatusOr<StageTimes> Finish(Ticket ticket);
  static absl::Status NoResidentKernels() {
    return absl::UnimplementedError(
        "the vulkan backend has no resident kernels, as Vulkan promises them no progress; use "
        "epochs");
  }

  const std::shared_ptr<Context> context_;
  const PipelineCache cache_;
  const Timeline done_;      // the compute queue reached this ticket
  const Timeline uploaded_;  // the transfer queue did
  Capabilities capabilities_;
  OverlapTracker overlap_;
  std::vector<std::unique_ptr<Flight>> idle_;
  std::map<Ticket, std::unique_ptr<Flight>> flying_;
  Ticket issued_ = 0;
  Ticket seen_ = 0;  // every ticket up to this one was seen complete
};

absl::Status VulkanDevice::Usable() const {
  if (context_->abandoned()) return AbandonedDevice(identity());
  if (context_->lost()) return StatusOf(VK_ERROR_DEVICE_LOST, Cat("using ", identity().name));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Buffer>> VulkanDevice::Allocate(MemoryKind kind, uint64_t bytes) {
  KS_RETURN_IF_ERROR(Usable());
  KS_RETURN_IF_ERROR(CheckAllocation(bytes, limits()));
  return VulkanBuffer::Create(context_, kind, bytes);
}

absl::StatusOr<std::unique_ptr<Program>> VulkanDevice::Load(const Image& image) {
  KS_RETURN_IF_ERROR(Usable());
  KS_RETURN_IF_ERROR(CheckImage(image, BackendKind::kVulkan, limits()));
  KS_ASSIGN_OR_RETURN(auto program, VulkanProgram::Create(context_, cache_, image));
  cache_.Save();
  return program;
}

absl::StatusOr<std::unique_ptr<Flight>> VulkanDevice::TakeFlight() {
  if (idle_.empty()) return Flight::Create(context_);
  std::unique_ptr<Flight> flight = std::move(idle_.back());
  idle_.pop_back();
  return flight;
}

absl::StatusOr<Ticket> VulkanDevice::Submit(const Submission& submission) {
  KS_RETURN_IF_ERROR(Usable());
  KS_RETURN_IF_ERROR(CheckSubmission(submission, context_.get(), limits()));
  KS_ASSIGN_OR_RETURN(auto flight, TakeFlight());
  absl::Status status = flight->Record(submission);
  const Ticket ticket = ++issued_;  // a refused one is never used again: timelines only grow
  flight->submitted = Clock::now();
  flight->completed.reset();
  if (status.ok()) status = Enqueue(*flight, ticket);
  if (!status.ok()) {
    idle_.push_back(std::move(flight));
    return status;
  }
  flight->record = RecordOf(submission, {});
  flying_.emplace(ticket, std::move(flight));
  if (context_->recorder() != nullptr) context_->recorder()->Submitted();
  return ticket;
}

absl::Status VulkanDevice::EnqueueUploads(const Flight& flight, Ticket ticket) {
  // Waiting for what the host has already seen costs nothing and makes its writes visible here.
  const VkPipelineStageFlags everything = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
  const VkSemaphore seen = done_.get(), uploaded = uploaded_.get();
  const VkCommandBuffer commands = flight.transfer_commands();
  const VkTimelineSemaphoreSubmitInfo values{
      .sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
      .waitSemaphoreValueCount = 1,
      .pWaitSemaphoreValues = &seen_,
      .signalSemaphoreValueCount = 1,
      .pSignalSemaphoreValues = &ticket};
  const VkSubmitInfo info{.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                          .pNext = &values,
                          .waitSemaphoreCount = 1,
                          .pWaitSemaphores = &seen,
                          .pWaitDstStageMask = &everything,
                          .commandBufferCount = 1,
                          .pCommandBuffers = &commands,
                          .signalSemaphoreCount = 1,
                          .pSignalSemaphores = &uploaded};
  return context_->Check(
      context_->fn().vkQueueSubmit(context_->transfer()->handle, 1, &info, VK_NULL_HANDLE),
      "submitting uploads");
}

absl::Status VulkanDevice::Enqueue(const Flight& flight, Ticket ticket) {
  const bool uploads_apart = flight.transfer_commands() != nullptr;
  if (uploads_apart) KS_RETURN_IF_ERROR(EnqueueUploads(flight, ticket));
  const VkPipelineStageFlags everything = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
  const VkSemaphore done = done_.get(), uploaded = uploaded_.get();
  const VkCommandBuffer commands = flight.compute_commands();
  const uint32_t waits = uploads_apart ? 1 : 0;
  const VkTimelineSemaphoreSubmitInfo values{
      .sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
      .waitSemaphoreValueCount = waits,
      .pWaitSemaphoreValues = &ticket,
      .signalSemaphoreValueCount = 1,
      .pSignalSemaphoreValues = &ticket};
  const VkSubmitInfo info{.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                          .pNext = &values,
                          .waitSemaphoreCount = waits,
                          .pWaitSemaphores = &uploaded,
                          .pWaitDstStageMask = &everything,
                          .commandBufferCount = 1,
                          .pCommandBuffers = &commands,
                          .signalSemaphoreCount = 1,
                          .pSignalSemaphores = &done};
  absl::Status status = context_->Check(
      context_->fn().vkQueueSubmit(context_->compute().handle, 1, &info, VK_NULL_HANDLE),
      "submitting");
  // On error nothing may be left running: the flight and the buffers are the caller's again.
  if (!status.ok() && uploads_apart) {
    context_->fn().vkQueueWaitIdle(context_->transfer()->handle);
  }
  return status;
}

void VulkanDevice::SeeCompleted(uint64_t value) {
  if (value <= seen_) return;
  const Clock::time_point now = Clock::now();
  for (auto flight = flying_.upper_bound(seen_); flight != flying_.end(); ++flight) {
    if (flight->first > value) break;
    flight->second->completed = now;
  }
  seen_ = value;
}

bool VulkanDevice::Done(Ticket ticket) {
  if (context_->abandoned()) return false;
  if (ticket <= seen_ || context_->lost()) return true;
  const absl::StatusOr<uint64_t> value = done_.Value();
  if (!value.ok()) return context_->lost();
  SeeCompleted(*value);
  return ticket <= seen_;
}

absl::StatusOr<StageTimes> VulkanDevice::Wait(Ticket ticket, Clock::time_point deadline) {
  KS_RETURN_IF_ERROR(Usable());
  if (!flying_.contains(ticket)) return UnknownTicket(ticket);
  if (ticket > seen_) {
    KS_ASSIGN_OR_RETURN(const bool reached, done_.WaitFor(ticket, deadline));
    if (!reached) return WaitTimedOut(ticket, identity());
    SeeCompleted(ticket);
  }
  return Finish(ticket);
}

absl::StatusOr<StageTimes> VulkanDevice::Finish(Ticket ticket) {
  std::unique_ptr<Flight> flight = std::move(flying_.extract(ticket).mapped());
  OverlapTracker::Work work;
  absl::StatusOr<StageTimes> times = flight->ReadTimes(work);
  if (times.ok()) {
    const auto whole = std::chrono::duration_cast<std::chrono::nanoseconds>(
        flight->completed.value_or(Clock::now()) - flight->submitted);
    // Two clocks: the device's may run a little fast, the whole is never less than its parts.
    times->submit_to_complete_ns = std::max<uint64_t>(
        whole.count(), times->upload_ns.value_or(0) + times->kernel_ns.value_or(0) +
                           times->readback_ns.value_or(0));
    Stamp(*times, flight->record);
    if (context_->transfer() && context_->comparable_timestamps()) {
      flight->record.overlap_ns = overlap_.Add(work);
    }
    if (context_->recorder() != nullptr) context_->recorder()->Completed(flight->record);
  }
  idle_.push_back(std::move(flight));
  return times;
}

absl::StatusOr<Sample> VulkanDevice::ReadSample() {
  KS_RETURN_IF_ERROR(Usable());
  return Sample{};  // Vulkan has no portable reading of either
}

void VulkanDevice::Abandon() {
  if (context_->abandoned()) return;
  const bool pending = !flying_.empty() && flying_.rbegin()->first > seen_;
  if (!context_->lost() && pending && context_->recorder() != nullptr) {
    context_->recorder()->Fault(evidence::FaultKind::kTimeout);
  }
  context_->Abandon();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Device>> OpenVulkanDevice(std::shared_ptr<Instance> instance,
                                                         const Adapter& adapter,
                                                         const OpenOptions& options) {
  KS_ASSIGN_OR_RETURN(auto context,
                      Context::Create(std::move(instance), adapter, options.recorder));
  KS_ASSIGN_OR_RETURN(auto cache, PipelineCache::Open(*context, options.cache_dir));
  KS_ASSIGN_OR_RETURN(auto done, Timeline::Create(*context));
  KS_ASSIGN_OR_RETURN(auto uploaded, Timeline::Create(*context));
  return std::make_unique<VulkanDevice>(std::move(context), std::move(cache), std::move(done),
                                        std::move(uploaded));
}

}  // namespace keysieve::backends::vulkan
