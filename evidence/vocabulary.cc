// SPDX-License-Identifier: MIT
// Names of label values and of accelerators.
#include "evidence/vocabulary.h"

#include <algorithm>
#include <string>

#include "evidence/base/status.h"

namespace keysieve::evidence {
namespace {

constexpr std::string_view kNoLabel[] = {""};

constexpr std::string_view kEventNames[] = {
#define KS_EVENT(id, name, when) name,
#include "evidence/vocabulary.inl"
};

constexpr std::string_view kCapabilityNames[] = {
#define KS_CAPABILITY(id, number, name, help) name,
#include "evidence/vocabulary.inl"
};

constexpr bool CapabilitiesCountFromOne() {
  for (std::size_t i = 0; i < kCapabilities; ++i) {
    if (kCapabilityRows[i].number != i + 1) return false;
  }
  return true;
}
static_assert(CapabilitiesCountFromOne(), "Index(Capability) needs the numbers 1, 2, 3, ...");

}  // namespace

std::span<const std::string_view> LabelValues(LabelKind label) {
  switch (label) {
    case LabelKind::kNone:
      return kNoLabel;
    case LabelKind::kTraffic:
      return kTrafficNames;
    case LabelKind::kFault:
      return kFaultNames;
    case LabelKind::kEvent:
      return kEventNames;
    case LabelKind::kCapability:
      return kCapabilityNames;
  }
  return kNoLabel;
}

std::string_view LabelName(LabelKind label) {
  switch (label) {
    case LabelKind::kNone:
      return "";
    case LabelKind::kTraffic:
    case LabelKind::kFault:
      return "kind";
    case LabelKind::kEvent:
      return "event";
    case LabelKind::kCapability:
      return "capability";
  }
  return "";
}

std::string_view AcceleratorName(Accelerator accelerator) {
  switch (accelerator) {
    case Accelerator::kCuda:
      return "cuda";
    case Accelerator::kMetal:
      return "metal";
    case Accelerator::kVulkan:
      return "vulkan";
  }
  return "";
}

absl::StatusOr<Accelerator> AcceleratorFromCode(int code) {
  if (code < 1 || code > 3) {
    return absl::InvalidArgumentError(
        Cat("accelerator code ", code, " is unknown: cuda is 1, metal 2, vulkan 3"));
  }
  return static_cast<Accelerator>(code);
}

absl::StatusOr<Accelerator> AcceleratorFromName(std::string_view name) {
  for (Accelerator a : {Accelerator::kCuda, Accelerator::kMetal, Accelerator::kVulkan}) {
    if (AcceleratorName(a) == name) return a;
  }
  return absl::InvalidArgumentError(
      Cat("accelerator \"", name, "\" is unknown: there are cuda, metal and vulkan"));
}

const ServiceRow* FindServiceRow(std::string_view name) {
  const auto row = std::find_if(kServiceRows.begin(), kServiceRows.end(),
                                [name](const ServiceRow& r) { return r.name == name; });
  return row == kServiceRows.end() ? nullptr : &*row;
}

}  // namespace keysieve::evidence
