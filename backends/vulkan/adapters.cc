// SPDX-License-Identifier: MIT
// Which physical devices an instance shows, and what each says of itself.
#include <cstdio>
#include <cstring>

#include "backends/vulkan/errors.h"
#include "backends/vulkan/instance.h"
#include "backends/vulkan/queues.h"
#include "evidence/base/status.h"

namespace keysieve::backends::vulkan {
namespace {

constexpr uint32_t kNvidia = 0x10DE;
constexpr uint32_t kLargestPciId = 0xFFFF;  // above it stand Khronos' own vendor numbers

std::string Hex(const uint8_t* bytes, size_t count) {
  std::string hex;
  for (size_t i = 0; i < count; ++i) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", bytes[i]);
    hex += digits;
  }
  return hex;
}

std::string DriverVersion(uint32_t vendor, uint32_t version) {
  if (vendor == kNvidia) {
    return Cat(version >> 22, ".", (version >> 14) & 0xFF, ".", (version >> 6) & 0xFF);
  }
  return Cat(VK_API_VERSION_MAJOR(version), ".", VK_API_VERSION_MINOR(version), ".",
             VK_API_VERSION_PATCH(version));
}

std::string PciAddress(const VkPhysicalDevicePCIBusInfoPropertiesEXT& pci) {
  char text[32];
  std::snprintf(text, sizeof text, "%04x:%02x:%02x.%x", pci.pciDomain, pci.pciBus, pci.pciDevice,
                pci.pciFunction);
  return text;
}

}  // namespace

bool Instance::HasExtension(VkPhysicalDevice device, std::string_view name) const {
  uint32_t count = 0;
  functions_.vkEnumerateDeviceExtensionProperties(device, nullptr, &count, nullptr);
  std::vector<VkExtensionProperties> extensions(count);
  functions_.vkEnumerateDeviceExtensionProperties(device, nullptr, &count, extensions.data());
  for (const VkExtensionProperties& extension : extensions) {
    if (name == extension.extensionName) return true;
  }
  return false;
}

std::string Instance::WhyUnfit(VkPhysicalDevice device) const {
  VkPhysicalDeviceProperties2 properties{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2};
  functions_.vkGetPhysicalDeviceProperties2(device, &properties);
  const std::string name = properties.properties.deviceName;
  if (properties.properties.apiVersion < VK_API_VERSION_1_2) {
    return Cat(name, " offers Vulkan ", VK_API_VERSION_MAJOR(properties.properties.apiVersion), ".",
               VK_API_VERSION_MINOR(properties.properties.apiVersion), "; 1.2 is needed");
  }
  VkPhysicalDeviceVulkan12Features features12{
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES};
  VkPhysicalDeviceFeatures2 features{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
                                     .pNext = &features12};
  functions_.vkGetPhysicalDeviceFeatures2(device, &features);
  if (!features12.timelineSemaphore) return Cat(name, " has no timeline semaphores");
  if (!FindQueues(functions_, device)) return Cat(name, " has no compute queue");
  return "";
}

Identity Instance::Describe(VkPhysicalDevice device, int index) const {
  VkPhysicalDevicePCIBusInfoPropertiesEXT pci{
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PCI_BUS_INFO_PROPERTIES_EXT};
  VkPhysicalDeviceDriverProperties driver{.sType =
                                              VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES};
  VkPhysicalDeviceIDProperties ids{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES,
                                   .pNext = &driver};
  VkPhysicalDeviceProperties2 properties{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
                                         .pNext = &ids};
  const bool has_pci = HasExtension(device, VK_EXT_PCI_BUS_INFO_EXTENSION_NAME);
  if (has_pci) driver.pNext = &pci;
  functions_.vkGetPhysicalDeviceProperties2(device, &properties);
  const VkPhysicalDeviceProperties& base = properties.properties;
  const bool on_pci = base.vendorID <= kLargestPciId;
  return {.backend = BackendKind::kVulkan,
          .index = index,
          .name = base.deviceName,
          .driver = DriverVersion(base.vendorID, base.driverVersion),
          .driver_info = Cat(driver.driverName, " ", driver.driverInfo),
          .uuid = Hex(ids.deviceUUID, VK_UUID_SIZE),
          .pci_address = has_pci ? PciAddress(pci) : "",
          .pci_vendor = on_pci ? base.vendorID : 0,
          .pci_device = on_pci ? base.deviceID : 0,
          .software = base.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU};
}

absl::StatusOr<std::vector<Adapter>> Instance::Adapters(std::string& passed_over) const {
  uint32_t count = 0;
  KS_RETURN_IF_ERROR(StatusOf(functions_.vkEnumeratePhysicalDevices(handle_, &count, nullptr),
                              "counting Vulkan devices"));
  std::vector<VkPhysicalDevice> devices(count);
  KS_RETURN_IF_ERROR(
      StatusOf(functions_.vkEnumeratePhysicalDevices(handle_, &count, devices.data()),
               "listing Vulkan devices"));
  std::vector<Adapter> adapters;
  for (uint32_t i = 0; i < count; ++i) {
    const std::string unfit = WhyUnfit(devices[i]);
    if (unfit.empty()) {
      adapters.push_back({devices[i], Describe(devices[i], static_cast<int>(i))});
    } else {
      passed_over += (passed_over.empty() ? "" : "; ") + unfit;
    }
  }
  return adapters;
}

}  // namespace keysieve::backends::vulkan
