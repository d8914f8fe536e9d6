// SPDX-License-Identifier: MIT
// The SPIR-V words of scan.comp's three modules, as the build compiled them.
#include "megakernel/images/embedded.h"

namespace keysieve::megakernel {
namespace {
constexpr uint32_t kScanSpirv[] = {
#include "images/keysieve_scan.spv.inc"
};
constexpr uint32_t kQueuedSpirv[] = {
#include "images/keysieve_queued.spv.inc"
};
constexpr uint32_t kSubgroupSpirv[] = {
#include "images/keysieve_subgroups.spv.inc"
};
}  // namespace

std::span<const std::byte> VulkanScanCode() { return std::as_bytes(std::span(kScanSpirv)); }
std::span<const std::byte> VulkanQueuedCode() { return std::as_bytes(std::span(kQueuedSpirv)); }
std::span<const std::byte> VulkanSubgroupCode() { return std::as_bytes(std::span(kSubgroupSpirv)); }

}  // namespace keysieve::megakernel
