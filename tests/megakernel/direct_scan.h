// SPDX-License-Identifier: MIT
// Runs the host image over hand-made bindings, without a device or a session: for tests of the
// program itself. Bindings have exactly the sizes the constants promise, so a sanitizer sees any
// access outside them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "megakernel/abi.h"
#include "megakernel/literal.h"
#include "megakernel/table.h"

namespace keysieve::test {

struct DirectEpoch {
  DirectEpoch(uint32_t ring_slots, uint32_t tenants, std::span<const uint8_t> text,
              std::span<const uint32_t> table, uint32_t hit_capacity);

  // Publishes `slot` at `index` with table 0 and the whole text unless told otherwise.
  void Publish(uint32_t index, megakernel::Slot slot);
  megakernel::Slot ScanSlot() const;  // owns and reads the whole text
  void Run();

  megakernel::Slot slot(uint32_t index) const;
  uint32_t control_at(uint32_t word) const { return control[word]; }
  uint32_t mask_at(uint32_t tenant) const { return KS_CTL_TENANTS_AT + tenant; }
  uint32_t quota_at(uint32_t tenant) const { return KS_CTL_TENANTS_AT + tenants + tenant; }
  uint32_t served_at(uint32_t tenant) const { return KS_CTL_TENANTS_AT + 2 * tenants + tenant; }
  std::vector<megakernel::HitRecord> hits() const;
  std::vector<megakernel::DebugRecord> log() const;

  uint32_t tenants;
  uint32_t first = 0;  // slot of the epoch
  uint32_t count = 1;
  std::vector<uint32_t> constants, control, text_words, blobs, tables, hit_words;
};

// All hits of a whole text that is one blob and one slot, sorted.
std::vector<megakernel::LiteralHit> ScanDirectly(const megakernel::Table& table,
                                                 std::span<const uint8_t> text);

}  // namespace keysieve::test
