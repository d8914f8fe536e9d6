// SPDX-License-Identifier: MIT
#include "megakernel/images/images.h"

#include "evidence/base/status.h"
#include "megakernel/abi.inl"
#include "megakernel/images/embedded.h"

namespace keysieve::megakernel {

using backends::BackendKind;
using backends::Image;

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

}  // namespace keysieve::megakernel
