// SPDX-License-Identifier: MIT
// The table of results.
#include "backends/vulkan/errors.h"

#include <string>

#include "evidence/base/status.h"

namespace keysieve::backends::vulkan {
namespace {

using absl::StatusCode;
using evidence::FaultKind;

struct Row {
  VkResult result;
  std::string_view name;
  StatusCode code;
  std::optional<FaultKind> fault;
};

#define KS_VK_ROW(result, code, fault) \
  { result, #result, StatusCode::code, fault }
constexpr Row kRows[] = {
    KS_VK_ROW(VK_SUCCESS, kOk, std::nullopt),
    KS_VK_ROW(VK_INCOMPLETE, kOk, std::nullopt),
    KS_VK_ROW(VK_NOT_READY, kDeadlineExceeded, std::nullopt),
    KS_VK_ROW(VK_TIMEOUT, kDeadlineExceeded, std::nullopt),
    KS_VK_ROW(VK_ERROR_DEVICE_LOST, kDataLoss, FaultKind::kDeviceLost),
    KS_VK_ROW(VK_ERROR_OUT_OF_HOST_MEMORY, kResourceExhausted, FaultKind::kOutOfMemory),
    KS_VK_ROW(VK_ERROR_OUT_OF_DEVICE_MEMORY, kResourceExhausted, FaultKind::kOutOfMemory),
    KS_VK_ROW(VK_ERROR_OUT_OF_POOL_MEMORY, kResourceExhausted, FaultKind::kOutOfMemory),
    KS_VK_ROW(VK_ERROR_FRAGMENTED_POOL, kResourceExhausted, FaultKind::kOutOfMemory),
    KS_VK_ROW(VK_ERROR_FRAGMENTATION, kResourceExhausted, FaultKind::kOutOfMemory),
    KS_VK_ROW(VK_ERROR_TOO_MANY_OBJECTS, kResourceExhausted, FaultKind::kOutOfMemory),
    KS_VK_ROW(VK_ERROR_MEMORY_MAP_FAILED, kResourceExhausted, FaultKind::kOutOfMemory),
    KS_VK_ROW(VK_ERROR_INITIALIZATION_FAILED, kUnavailable, std::nullopt),
    KS_VK_ROW(VK_ERROR_INCOMPATIBLE_DRIVER, kUnavailable, std::nullopt),
    KS_VK_ROW(VK_ERROR_LAYER_NOT_PRESENT, kUnavailable, std::nullopt),
    KS_VK_ROW(VK_ERROR_EXTENSION_NOT_PRESENT, kUnavailable, std::nullopt),
    KS_VK_ROW(VK_ERROR_FEATURE_NOT_PRESENT, kUnavailable, std::nullopt),
    KS_VK_ROW(VK_ERROR_INVALID_SHADER_NV, kInvalidArgument, std::nullopt),
    KS_VK_ROW(VK_ERROR_FORMAT_NOT_SUPPORTED, kInvalidArgument, std::nullopt),
    KS_VK_ROW(VK_ERROR_UNKNOWN, kInternal, FaultKind::kDispatch),
};
#undef KS_VK_ROW

const Row* Find(VkResult result) {
  for (const Row& row : kRows) {
    if (row.result == result) return &row;
  }
  return nullptr;
}

}  // namespace

std::string_view ResultName(VkResult result) {
  const Row* row = Find(result);
  return row != nullptr ? row->name : "an unlisted VkResult";
}

absl::Status StatusOf(VkResult result, std::string_view what) {
  const Row* row = Find(result);
  if (row == nullptr && result > 0) return absl::OkStatus();  // an extension's way of success
  if (row != nullptr && row->code == StatusCode::kOk) return absl::OkStatus();
  const StatusCode code = row != nullptr ? row->code : StatusCode::kInternal;
  return absl::Status(code, Cat(what, ": ", ResultName(result), " (", result, ")"));
}

std::optional<FaultKind> FaultOf(VkResult result) {
  const Row* row = Find(result);
  if (row != nullptr) return row->fault;
  return result < 0 ? std::optional(FaultKind::kDispatch) : std::nullopt;
}

}  // namespace keysieve::backends::vulkan
