// SPDX-License-Identifier: MIT
// What one submission in flight needs of the driver: command buffers, a descriptor pool and
// timestamps. Flights are recycled; a device has as many as it ever had submissions in flight.
//
// Order within a flight: fills, uploads (both on the transfer queue where there is one), launch,
// readbacks, each behind a barrier. Flights follow one another on the compute queue.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>

#include "absl/status/statusor.h"
#include "backends/device.h"
#include "backends/overlap.h"
#include "backends/vulkan/context.h"

namespace keysieve::backends::vulkan {

class Flight {
 public:
  static absl::StatusOr<std::unique_ptr<Flight>> Create(std::shared_ptr<Context> context);

  // Records the command buffers anew. Only while the flight is not in use by the device.
  absl::Status Record(const Submission& submission);

  VkCommandBuffer compute_commands() const { return compute_commands_; }
  // Null if the submission has nothing for the transfer queue.
  VkCommandBuffer transfer_commands() const {
    return uses_transfer_ ? transfer_commands_ : nullptr;
  }

  // After completion. `submit_to_complete_ns` is left to the caller.
  absl::StatusOr<StageTimes> ReadTimes(OverlapTracker::Work& work) const;

  // The caller's notes about the submission in flight.
  Clock::time_point submitted;
  std::optional<Clock::time_point> completed;  // when the host first saw it complete
  evidence::DispatchRecord record;

 private:
  enum Stage : uint32_t { kUpload = 0, kKernel = 1, kReadback = 2, kStages = 3 };

  explicit Flight(std::shared_ptr<Context> context) : context_(std::move(context)) {}
  absl::Status MakeCommands(const Queue& queue, Handle<VkCommandPool>& pool,
                            VkCommandBuffer& commands);
  absl::Status MakeQueries();
  absl::Status MakeDescriptorPool();
  absl::Status Begin(VkCommandPool pool, VkCommandBuffer commands);
  absl::Status BindBuffers(const Launch& launch, VkDescriptorSet& set);
  void RecordFillsAndUploads(VkCommandBuffer commands, const Submission& submission, bool timed);
  absl::Status RecordLaunch(const Launch& launch);
  void RecordReadbacks(std::span<const Copy> readbacks);
  bool RecordCopies(VkCommandBuffer commands, std::span<const Copy> copies);
  void Barrier(VkCommandBuffer commands, VkPipelineStageFlags from, VkAccessFlags written,
               VkPipelineStageFlags to, VkAccessFlags used);
  void Tick(VkCommandBuffer commands, Stage stage, bool end);

  const std::shared_ptr<Context> context_;
  Handle<VkCommandPool> compute_pool_;
  Handle<VkCommandPool> transfer_pool_;
  VkCommandBuffer compute_commands_ = VK_NULL_HANDLE;
  VkCommandBuffer transfer_commands_ = VK_NULL_HANDLE;
  Handle<VkDescriptorPool> descriptor_pool_;
  Handle<VkQueryPool> queries_;  // begin and end of each stage; null without timestamps
  bool uses_transfer_ = false;
  std::array<bool, kStages> timed_{};
};

}  // namespace keysieve::backends::vulkan
