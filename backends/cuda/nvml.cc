// SPDX-License-Identifier: MIT
// NVML's entry points, declared here because its header is not part of the toolkit everywhere.
#include "backends/cuda/nvml.h"

#include <dlfcn.h>

#include <utility>

namespace keysieve::backends::cuda {
namespace {

using Device = struct NvmlDevice*;
constexpr int kSuccess = 0;

struct Rates {
  unsigned int gpu = 0;     // percent
  unsigned int memory = 0;  // percent
};

struct PciInfo {
  char bus_id_legacy[16] = {};
  unsigned int domain = 0;
  unsigned int bus = 0;
  unsigned int device = 0;
  unsigned int pci_device_id = 0;  // device id above, vendor id below
  unsigned int pci_subsystem_id = 0;
  char bus_id[32] = {};
};

}  // namespace

struct Nvml::Functions {
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  int (*driver_version)(char*, unsigned int) = nullptr;
  int (*by_pci)(const char*, Device*) = nullptr;
  int (*pci_info)(Device, PciInfo*) = nullptr;
  int (*rates)(Device, Rates*) = nullptr;
};

std::shared_ptr<const Nvml> Nvml::Load() {
  void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) return nullptr;
  auto functions = std::make_unique<Functions>();
  bool whole = true;
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    whole = whole && function != nullptr;
  };
  find(functions->init, "nvmlInit_v2");
  find(functions->shutdown, "nvmlShutdown");
  find(functions->driver_version, "nvmlSystemGetDriverVersion");
  find(functions->by_pci, "nvmlDeviceGetHandleByPciBusId_v2");
  find(functions->pci_info, "nvmlDeviceGetPciInfo_v3");
  find(functions->rates, "nvmlDeviceGetUtilizationRates");
  if (!whole || functions->init() != kSuccess) return nullptr;
  return std::shared_ptr<const Nvml>(new Nvml(std::move(functions)));
}

Nvml::Nvml(std::unique_ptr<Functions> functions) : functions_(std::move(functions)) {}

Nvml::~Nvml() { functions_->shutdown(); }

std::string Nvml::DriverVersion() const {
  char text[96] = {};
  return functions_->driver_version(text, sizeof text) == kSuccess ? text : "";
}

uint32_t Nvml::PciDeviceId(const std::string& pci_address) const {
  Device device = nullptr;
  PciInfo info;
  if (functions_->by_pci(pci_address.c_str(), &device) != kSuccess) return 0;
  return functions_->pci_info(device, &info) == kSuccess ? info.pci_device_id >> 16 : 0;
}

std::optional<double> Nvml::Utilization(const std::string& pci_address) const {
  Device device = nullptr;
  Rates rates;
  if (functions_->by_pci(pci_address.c_str(), &device) != kSuccess) return std::nullopt;
  if (functions_->rates(device, &rates) != kSuccess) return std::nullopt;
  return rates.gpu / 100.0;
}

}  // namespace keysieve::backends::cuda
