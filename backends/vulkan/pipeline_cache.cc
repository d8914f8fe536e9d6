// SPDX-License-Identifier: MIT
// Reads, checks and replaces the cache file.
#include "backends/vulkan/pipeline_cache.h"

#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include "evidence/base/status.h"

namespace keysieve::backends::vulkan {
namespace {

constexpr std::string_view kMagic = "KSVKPC1\n";
constexpr size_t kHeaderBytes = 24;

uint64_t Checksum(std::string_view bytes) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

void AppendWord(std::string& out, uint64_t word) {
  for (int i = 0; i < 8; ++i) out += static_cast<char>(word >> (8 * i) & 0xFF);
}

uint64_t ReadWord(std::string_view bytes) {
  uint64_t word = 0;
  for (int i = 7; i >= 0; --i) word = word << 8 | static_cast<unsigned char>(bytes[i]);
  return word;
}

std::string FileName(const VkPhysicalDeviceProperties& device) {
  std::string name = "vulkan-";
  for (const uint8_t byte : device.pipelineCacheUUID) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", byte);
    name += digits;
  }
  return name + ".pipelines";
}

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace

std::string WrapCache(std::string_view payload) {
  std::string file(kMagic);
  AppendWord(file, payload.size());
  AppendWord(file, Checksum(payload));
  return file.append(payload);
}

std::optional<std::string> UnwrapCache(std::string_view file) {
  if (file.size() < kHeaderBytes || !file.starts_with(kMagic)) return std::nullopt;
  const std::string_view payload = file.substr(kHeaderBytes);
  if (ReadWord(file.substr(8)) != payload.size()) return std::nullopt;
  if (ReadWord(file.substr(16)) != Checksum(payload)) return std::nullopt;
  return std::string(payload);
}

bool CacheIsFor(std::string_view payload, const VkPhysicalDeviceProperties& device) {
  VkPipelineCacheHeaderVersionOne header{};
  if (payload.size() < sizeof header) return false;
  std::memcpy(&header, payload.data(), sizeof header);
  return header.headerSize >= sizeof header && header.headerSize <= payload.size() &&
         header.headerVersion == VK_PIPELINE_CACHE_HEADER_VERSION_ONE &&
         header.vendorID == device.vendorID && header.deviceID == device.deviceID &&
         std::memcmp(header.pipelineCacheUUID, device.pipelineCacheUUID, VK_UUID_SIZE) == 0;
}

absl::StatusOr<PipelineCache> PipelineCache::Open(Context& context, const std::string& dir) {
  const VkPhysicalDeviceProperties& device = context.properties();
  PipelineCache cache(context, dir.empty() ? "" : dir + "/" + FileName(device));
  std::string payload;
  if (!cache.path_.empty()) payload = UnwrapCache(ReadFile(cache.path_)).value_or("");
  cache.warm_ = CacheIsFor(payload, device);
  if (!cache.warm_) payload.clear();
  const VkPipelineCacheCreateInfo info{.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO,
                                       .initialDataSize = payload.size(),
                                       .pInitialData = payload.data()};
  VkPipelineCache handle = VK_NULL_HANDLE;
  KS_RETURN_IF_ERROR(
      context.Check(context.fn().vkCreatePipelineCache(context.device(), &info, nullptr, &handle),
                    "creating a pipeline cache"));
  cache.cache_ = Handle<VkPipelineCache>(context, handle, context.fn().vkDestroyPipelineCache);
  return cache;
}

void PipelineCache::Save() const {
  if (path_.empty()) return;
  size_t size = 0;
  const auto get = context_->fn().vkGetPipelineCacheData;
  if (get(context_->device(), handle(), &size, nullptr) != VK_SUCCESS || size == 0) return;
  std::string payload(size, '\0');
  if (get(context_->device(), handle(), &size, payload.data()) != VK_SUCCESS) return;
  payload.resize(size);
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(path_).parent_path(), ignored);
  // Written aside and renamed, so that another process never reads half a file.
  const std::string aside = Cat(path_, ".", getpid());
  {
    std::ofstream file(aside, std::ios::binary | std::ios::trunc);
    const std::string wrapped = WrapCache(payload);
    file.write(wrapped.data(), static_cast<std::streamsize>(wrapped.size()));
    if (!file.flush()) return;
  }
  std::filesystem::rename(aside, path_, ignored);
}

}  // namespace keysieve::backends::vulkan
