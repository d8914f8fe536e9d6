// SPDX-License-Identifier: MIT
// Asks the CUDA runtime, and NVML for what it alone knows.
#include "backends/cuda/adapters.h"

#include <cstdio>
#include <string>

#include "backends/cuda/errors.h"
#include "backends/cuda/nvml.h"
#include "evidence/base/status.h"

namespace keysieve::backends::cuda {
namespace {

constexpr uint32_t kNvidia = 0x10DE;
constexpr int kLowestMajor = 8;  // the oldest architecture in the fat binaries

std::string Hex(const cudaUUID_t& uuid) {
  std::string hex;
  for (const char byte : uuid.bytes) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned char>(byte));
    hex += digits;
  }
  return hex;
}

std::string PciAddress(const cudaDeviceProp& properties) {
  char text[48];
  std::snprintf(text, sizeof text, "%04x:%02x:%02x.0", properties.pciDomainID, properties.pciBusID,
                properties.pciDeviceID);
  return text;
}

std::string Version(int version) { return Cat(version / 1000, ".", version % 1000 / 10); }

Identity Describe(int index, const cudaDeviceProp& properties, const Nvml* nvml) {
  int driver = 0, runtime = 0;
  cudaDriverGetVersion(&driver);
  cudaRuntimeGetVersion(&runtime);
  Identity identity;
  identity.backend = BackendKind::kCuda;
  identity.index = index;
  identity.name = properties.name;
  identity.driver = nvml != nullptr ? nvml->DriverVersion() : "";
  identity.driver_info = Cat("CUDA driver ", Version(driver), ", runtime ", Version(runtime),
                             ", compute capability ", properties.major, ".", properties.minor);
  identity.uuid = Hex(properties.uuid);
  identity.pci_address = PciAddress(properties);
  identity.pci_vendor = kNvidia;
  identity.pci_device = nvml != nullptr ? nvml->PciDeviceId(identity.pci_address) : 0;
  return identity;
}

}  // namespace

Limits LimitsOf(const cudaDeviceProp& properties) {
  Limits limits;
  limits.max_buffer_bytes = properties.totalGlobalMem;
  limits.memory_bytes = properties.totalGlobalMem;
  limits.max_workgroups = static_cast<uint32_t>(properties.maxGridSize[0]);
  limits.max_workgroup_size = static_cast<uint32_t>(properties.maxThreadsPerBlock);
  limits.shared_memory_bytes = static_cast<uint32_t>(properties.sharedMemPerBlockOptin);
  limits.subgroup_size = static_cast<uint32_t>(properties.warpSize);
  limits.multiprocessors = static_cast<uint32_t>(properties.multiProcessorCount);
  limits.offset_alignment = 16;  // the widest load of a thread
  limits.resident_kernels = true;
  return limits;
}

ProbeResult Probe() {
  ProbeResult result;
  int count = 0;
  const cudaError_t counted = cudaGetDeviceCount(&count);
  if (counted != cudaSuccess) {
    cudaGetLastError();  // not sticky; must not surface in a later call
    int driver = 0;
    const bool none = cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0;
    result.reason =
        Message(StatusOf(counted, none ? "no CUDA driver" : "looking for CUDA devices"));
    return result;
  }
  const std::shared_ptr<const Nvml> nvml = Nvml::Load();
  for (int index = 0; index < count; ++index) {
    cudaDeviceProp properties{};
    const cudaError_t read = cudaGetDeviceProperties(&properties, index);
    std::string unfit;
    if (read != cudaSuccess) {
      unfit = Message(StatusOf(read, Cat("reading CUDA device ", index)));
    } else if (properties.major < kLowestMajor) {
      unfit = Cat(properties.name, " has compute capability ", properties.major, ".",
                  properties.minor, "; ", kLowestMajor, ".0 is needed");
    }
    if (unfit.empty()) {
      result.adapters.push_back(Describe(index, properties, nvml.get()));
    } else {
      result.reason += (result.reason.empty() ? "" : "; ") + unfit;
    }
  }
  if (!result.adapters.empty()) {
    result.reason.clear();
  } else if (result.reason.empty()) {
    result.reason = "the CUDA driver shows no device";
  }
  return result;
}

}  // namespace keysieve::backends::cuda
