// SPDX-License-Identifier: MIT
// One opened logical device and what its buffers, programs and flights share: functions, queues,
// memory types, the fault log. Children hold it by shared_ptr, so it goes last. After Abandon()
// nothing is destroyed: handles of a hung device are left to the end of the process.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "backends/device.h"
#include "backends/faults.h"
#include "backends/owned.h"
#include "backends/vulkan/instance.h"
#include "backends/vulkan/queues.h"

namespace keysieve::backends::vulkan {

struct Queue {
  VkQueue handle = VK_NULL_HANDLE;
  QueueFamily family;
};

class Context {
 public:
  static absl::StatusOr<std::shared_ptr<Context>> Create(std::shared_ptr<Instance> instance,
                                                         const Adapter& adapter,
                                                         evidence::DeviceRecorder* recorder);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  const DeviceFunctions& fn() const { return fn_; }
  VkDevice device() const { return device_; }
  const Identity& identity() const { return identity_; }
  const Limits& limits() const { return limits_; }
  const VkPhysicalDeviceProperties& properties() const { return properties_; }
  const Queue& compute() const { return compute_; }
  const std::optional<Queue>& transfer() const { return transfer_; }
  evidence::DeviceRecorder* recorder() const { return recorder_; }

  bool timestamps(const QueueFamily& family) const {
    return host_query_reset_ && family.timestamp_bits > 0;
  }
  // May ticks of the compute and the transfer queue be compared?
  bool comparable_timestamps() const { return comparable_timestamps_; }
  bool creation_feedback() const { return creation_feedback_; }

  // The memory type for `kind` among `allowed` bits, and its heap's budget.
  struct MemoryType {
    uint32_t index = 0;
    std::shared_ptr<MemoryBudget> budget;
  };
  absl::StatusOr<MemoryType> FindMemory(MemoryKind kind, uint32_t allowed) const;

  // The status of a vendor call on the open device; records its fault.
  absl::Status Check(VkResult result, std::string_view what);
  absl::Status RecordOutOfMemory(absl::Status status);
  bool lost() const { return faults_.lost(); }

  void Abandon();
  bool abandoned() const { return abandoned_; }

 private:
  explicit Context(std::shared_ptr<Instance> instance, const Adapter& adapter,
                   evidence::DeviceRecorder* recorder);
  void ReadProperties();
  void ReadMemory();
  absl::Status Open();

  const std::shared_ptr<Instance> instance_;
  const VkPhysicalDevice physical_;
  const Identity identity_;
  evidence::DeviceRecorder* const recorder_;
  FaultLog faults_;
  VkPhysicalDeviceProperties properties_{};
  Limits limits_;
  VkPhysicalDeviceMemoryProperties memory_{};
  std::vector<std::shared_ptr<MemoryBudget>> budgets_;  // one a heap
  bool host_query_reset_ = false;
  bool comparable_timestamps_ = false;
  bool creation_feedback_ = false;
  VkDevice device_ = VK_NULL_HANDLE;
  DeviceFunctions fn_;
  Queue compute_;
  std::optional<Queue> transfer_;
  bool abandoned_ = false;
};

// A child object of the device. The context outlives it: its holder also holds the context.
template <typename T>
class Handle {
 public:
  using Destroy = void(VKAPI_PTR*)(VkDevice, T, const VkAllocationCallbacks*);

  Handle() = default;
  Handle(const Context& context, T handle, Destroy destroy)
      : context_(&context), handle_(handle), destroy_(destroy) {}
  Handle(Handle&& other) noexcept
      : context_(std::exchange(other.context_, nullptr)),
        handle_(std::exchange(other.handle_, VK_NULL_HANDLE)),
        destroy_(other.destroy_) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(context_, other.context_);
    std::swap(handle_, other.handle_);
    std::swap(destroy_, other.destroy_);
    return *this;
  }
  ~Handle() {
    if (handle_ != VK_NULL_HANDLE && !context_->abandoned()) {
      destroy_(context_->device(), handle_, nullptr);
    }
  }
  T get() const { return handle_; }

 private:
  const Context* context_ = nullptr;
  T handle_ = VK_NULL_HANDLE;
  Destroy destroy_ = nullptr;
};

}  // namespace keysieve::backends::vulkan
