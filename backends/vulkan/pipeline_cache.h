// SPDX-License-Identifier: MIT
// The driver's pipeline cache, kept in a file between runs. The file is only a hint: one that is
// missing, damaged or another device's is ignored, and one that cannot be written is not missed.
//
// File: 8 bytes "KSVKPC1\n", the payload's size and its FNV-1a checksum (64 bits each,
// little-endian), then what the driver gave.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "backends/vulkan/context.h"

namespace keysieve::backends::vulkan {

class PipelineCache {
 public:
  // `dir` empty: nothing on disk.
  static absl::StatusOr<PipelineCache> Open(Context& context, const std::string& dir);

  VkPipelineCache handle() const { return cache_.get(); }
  bool warm() const { return warm_; }  // did the file hold data for this device?
  void Save() const;

 private:
  PipelineCache(Context& context, std::string path) : context_(&context), path_(std::move(path)) {}

  Context* context_;
  std::string path_;  // empty: none
  bool warm_ = false;
  Handle<VkPipelineCache> cache_;
};

// The envelope, apart from the driver. Unwrap() gives nothing for damaged files.
std::string WrapCache(std::string_view payload);
std::optional<std::string> UnwrapCache(std::string_view file);
// Is the driver's own header inside `payload` the one this device would write?
bool CacheIsFor(std::string_view payload, const VkPhysicalDeviceProperties& device);

}  // namespace keysieve::backends::vulkan
