// SPDX-License-Identifier: MIT
// A timeline semaphore whose value is the newest ticket a queue has reached.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "backends/device.h"
#include "backends/vulkan/context.h"

namespace keysieve::backends::vulkan {

class Timeline {
 public:
  // Starts at 0.
  static absl::StatusOr<Timeline> Create(Context& context);

  VkSemaphore get() const { return semaphore_.get(); }
  absl::StatusOr<uint64_t> Value() const;
  // False if `deadline` passed before the timeline reached `value`.
  absl::StatusOr<bool> WaitFor(uint64_t value, Clock::time_point deadline) const;

 private:
  Timeline(Context& context, VkSemaphore semaphore)
      : context_(&context), semaphore_(context, semaphore, context.fn().vkDestroySemaphore) {}

  Context* context_;
  Handle<VkSemaphore> semaphore_;
};

}  // namespace keysieve::backends::vulkan
