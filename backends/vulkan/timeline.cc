// SPDX-License-Identifier: MIT
// Creates, reads and waits for timelines.
#include "backends/vulkan/timeline.h"

#include <algorithm>
#include <chrono>

#include "evidence/base/status.h"

namespace keysieve::backends::vulkan {

absl::StatusOr<Timeline> Timeline::Create(Context& context) {
  const VkSemaphoreTypeCreateInfo type{.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                       .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE,
                                       .initialValue = 0};
  const VkSemaphoreCreateInfo info{.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO,
                                   .pNext = &type};
  VkSemaphore semaphore = VK_NULL_HANDLE;
  KS_RETURN_IF_ERROR(
      context.Check(context.fn().vkCreateSemaphore(context.device(), &info, nullptr, &semaphore),
                    "creating a timeline"));
  return Timeline(context, semaphore);
}

absl::StatusOr<uint64_t> Timeline::Value() const {
  uint64_t value = 0;
  KS_RETURN_IF_ERROR(
      context_->Check(context_->fn().vkGetSemaphoreCounterValue(context_->device(), get(), &value),
                      "reading a timeline"));
  return value;
}

absl::StatusOr<bool> Timeline::WaitFor(uint64_t value, Clock::time_point deadline) const {
  const VkSemaphore semaphore = get();
  const VkSemaphoreWaitInfo info{.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                                 .semaphoreCount = 1,
                                 .pSemaphores = &semaphore,
                                 .pValues = &value};
  const auto left =
      std::chrono::duration_cast<std::chrono::nanoseconds>(deadline - Clock::now()).count();
  const VkResult result = context_->fn().vkWaitSemaphores(
      context_->device(), &info, static_cast<uint64_t>(std::max<int64_t>(left, 0)));
  if (result == VK_TIMEOUT) return false;
  KS_RETURN_IF_ERROR(context_->Check(result, "waiting"));
  return true;
}

}  // namespace keysieve::backends::vulkan
