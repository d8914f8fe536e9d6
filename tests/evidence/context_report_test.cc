// SPDX-License-Identifier: MIT
// A record in words: names and units of the vocabulary, and nothing for codes it does not have.
#include "evidence/context_report.h"

#include <gtest/gtest.h>

namespace keysieve::evidence {
namespace {

TEST(ContextReport, NamesWhatIsNotZeroInTheUnitOfItsName) {
  CounterCells cells;
  cells.Add(CellOf(Counter::kUploadBytes, Index(Traffic::kText)), 4096);
  cells.Add(CellOf(Counter::kKernelTime), 2'500'000'000);
  cells.Add(CellOf(Counter::kDispatchCalls), 3);
  const auto named = NamedCounters(cells.Read());
  ASSERT_EQ(named.size(), 3u);
  EXPECT_EQ(named[0].name, "keysieve_gpu_dispatches_total");
  EXPECT_EQ(named[0].label, "");
  EXPECT_EQ(named[0].value, 3);
  EXPECT_EQ(named[1].name, "keysieve_gpu_upload_bytes_total");
  EXPECT_EQ(named[1].label, "text");
  EXPECT_EQ(named[1].value, 4096);
  EXPECT_EQ(named[2].name, "keysieve_gpu_kernel_seconds_total");
  EXPECT_EQ(named[2].value, 2.5);
}

TEST(ContextReport, DescribesEventsByTheirDetail) {
  const NamedEntry fault = Describe({.code = static_cast<uint8_t>(Event::kFault),
                                     .accelerator = Accelerator::kVulkan,
                                     .device = 2,
                                     .value = static_cast<uint32_t>(FaultKind::kTimeout)});
  EXPECT_EQ(fault.name, "fault");
  EXPECT_EQ(fault.backend, "vulkan");
  EXPECT_EQ(fault.device, 2);
  EXPECT_EQ(fault.detail, "timeout");
  const NamedEntry gap = Describe({.code = static_cast<uint8_t>(Event::kCapabilityUnsupported),
                                   .value = static_cast<uint32_t>(Capability::kStallCounters)});
  EXPECT_EQ(gap.name, "capability_unsupported");
  EXPECT_EQ(gap.detail, "stall_counters");
  const NamedEntry vendor = Describe(
      {.annotation = true, .code = static_cast<uint8_t>(Annotation::kPciVendor), .value = 0x10de});
  EXPECT_EQ(vendor.name, "pci_vendor_code");
  EXPECT_EQ(vendor.value, 0x10deu);
}

TEST(ContextReport, ACodeOutsideTheTablesHasNoName) {
  EXPECT_EQ(Describe({.code = 200}).name, "");
  EXPECT_EQ(Describe({.annotation = true, .code = 200}).name, "");
  EXPECT_EQ(Describe({.code = static_cast<uint8_t>(Event::kFault), .value = 99}).detail, "");
  EXPECT_EQ(Describe({.accelerator = static_cast<Accelerator>(9)}).backend, "");
}

}  // namespace
}  // namespace keysieve::evidence
