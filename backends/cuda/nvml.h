// SPDX-License-Identifier: MIT
// The few readings that only NVML has, through a library found at run time. A machine without it
// loses the readings and nothing else.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace keysieve::backends::cuda {

class Nvml {
 public:
  // Null if libnvidia-ml.so.1 is missing or does not start.
  static std::shared_ptr<const Nvml> Load();
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  std::string DriverVersion() const;  // empty if unknown
  // The PCI device id of the device at "0000:17:00.0"; 0 if unknown.
  uint32_t PciDeviceId(const std::string& pci_address) const;
  // Share of the last sample period in which a kernel ran, 0 to 1. A resident kernel that only
  // polls reads near 1.
  std::optional<double> Utilization(const std::string& pci_address) const;

 private:
  struct Functions;
  explicit Nvml(std::unique_ptr<Functions> functions);

  const std::unique_ptr<Functions> functions_;
};

}  // namespace keysieve::backends::cuda
