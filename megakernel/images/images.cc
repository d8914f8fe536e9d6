// SPDX-License-Identifier: MIT
#include "megakernel/images/images.h"

#include "evidence/base/status.h"
#include "megakernel/abi.inl"
#include "megakernel/images/embedded.h"
#include "megakernel/resident.inl"

namespace keysieve::megakernel {

using backends::BackendKind;
using backends::Image;

namespace {

// Filter rows in shared memory, in words of 4 bytes. Every Vulkan device has 16 KiB of it.
constexpr uint32_t kLeastRows = 2048;
constexpr uint32_t kMostRows = 8192;
constexpr uint32_t kBesideRows = 13 << 10;  // bytes, for the queues of queued.glsl

// The most rows that fit beside the queues; 0 if not even the fewest do.
uint32_t RowsBesideQueues(uint32_t shared_bytes) {
  uint32_t rows = kMostRows;
  while (rows >= kLeastRows && rows * 4 + kBesideRows > shared_bytes) rows /= 2;
  return rows >= kLeastRows ? rows : 0;
}

}  // namespace

absl::StatusOr<Image> ScanImage(BackendKind backend, uint32_t workgroup) {
  Image image;
  image.backend = backend;
  image.name = "keysieve_scan";
  image.entry = "main";
  image.bindings = KS_BINDINGS;
  image.constants = KS_CONSTANTS;
  image.workgroup_size = backend == BackendKind::kCpu ? 1 : workgroup;
  switch (backend) {
    case BackendKind::kCpu:
      image.host = &RunScanOnCpu;
      return image;
    case BackendKind::kVulkan:
      image.code = VulkanScanCode();
      image.shared_bytes = kLeastRows * 4;
      break;
    case BackendKind::kCuda:
      image.code = CudaScanCode();
      image.entry = "keysieve_scan";
      break;
    case BackendKind::kMetal:
      break;
  }
  if (image.code.empty()) {
    return absl::UnavailableError(Cat("this build has no scan program for ",
                                      backends::BackendName(backend),
                                      "; build it where that backend's compiler is installed"));
  }
  return image;
}

namespace {

// One block of the tuned program: four workers that share all of a multiprocessor's memory.
constexpr uint32_t kTunedThreads = 1024;
constexpr uint32_t kTunedWorkers = 4;
constexpr uint32_t kStaticShared = 4096;  // bytes that the program takes beside
constexpr uint32_t kLeastShared = 96 << 10;

Image TunedCuda(const char* entry, uint32_t bindings, const backends::Limits& limits) {
  Image image;
  image.backend = BackendKind::kCuda;
  image.name = entry;
  image.entry = entry;
  image.code = CudaTunedCode();
  image.bindings = bindings;
  image.constants = KS_CONSTANTS;
  image.workgroup_size = kTunedThreads;
  image.shared_bytes = limits.shared_memory_bytes - kStaticShared;
  return image;
}

bool TakesTuned(const backends::Limits& limits) {
  return !CudaTunedCode().empty() && limits.max_workgroup_size >= kTunedThreads &&
         limits.shared_memory_bytes >= kLeastShared + kStaticShared;
}

}  // namespace

absl::StatusOr<Image> TunedImage(BackendKind backend, uint32_t workgroup,
                                 const backends::Limits& limits) {
  if (backend == BackendKind::kCuda && TakesTuned(limits)) {
    return TunedCuda("keysieve_tuned", KS_BINDINGS, limits);
  }
  KS_ASSIGN_OR_RETURN(Image image, ScanImage(backend, workgroup));
  const uint32_t rows = RowsBesideQueues(limits.shared_memory_bytes);
  if (backend != BackendKind::kVulkan || rows == 0) return image;
  image.code = limits.subgroup_operations ? VulkanSubgroupCode() : VulkanQueuedCode();
  image.shared_bytes = rows * 4;
  return image;
}

absl::StatusOr<Image> ResidentImage(BackendKind backend, const backends::Limits& limits) {
  if (!limits.resident_kernels) {
    return absl::UnavailableError(
        Cat(backends::BackendName(backend), " promises no progress to a program that waits"));
  }
  if (backend != BackendKind::kCuda || !TakesTuned(limits)) {
    return absl::UnavailableError(Cat("this build has no resident program for ",
                                      backends::BackendName(backend), " that fits the device"));
  }
  return TunedCuda("keysieve_resident", KS_RES_BINDINGS, limits);
}

uint32_t WorkersOf(const Image& image) {
  return image.backend == BackendKind::kCuda && image.shared_bytes != 0 ? kTunedWorkers : 1;
}

}  // namespace keysieve::megakernel
