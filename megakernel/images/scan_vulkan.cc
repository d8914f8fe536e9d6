// SPDX-License-Identifier: MIT
#include "megakernel/images/embedded.h"

namespace keysieve::megakernel {
namespace {
constexpr uint32_t kScanSpirv[] = {
#include "images/keysieve_scan.spv.inc"
};
}  // namespace

std::span<const std::byte> VulkanScanCode() { return std::as_bytes(std::span(kScanSpirv)); }

}  // namespace keysieve::megakernel
