// SPDX-License-Identifier: MIT
#include "tests/megakernel/direct_scan.h"

#include <algorithm>
#include <cstring>

#include "megakernel/images/embedded.h"
#include "megakernel/table_layout.inl"

namespace keysieve::test {

using megakernel::Blob;
using megakernel::HitRecord;
using megakernel::LiteralHit;
using megakernel::Slot;

namespace {

uint32_t RingAt(uint32_t tenants) {
  return (KS_CTL_TENANTS_AT + KS_TENANT_ARRAYS * tenants + 15) / 16 * 16;
}

}  // namespace

DirectEpoch::DirectEpoch(uint32_t ring_slots, uint32_t tenant_count, std::span<const uint8_t> text,
                         std::span<const uint32_t> table, uint32_t hit_capacity)
    : tenants(tenant_count) {
  const uint32_t text_end = KS_TEXT_LEAD + static_cast<uint32_t>(text.size());
  text_words.resize((text_end + KS_TEXT_SLACK) / 4);
  if (!text.empty()) {
    std::memcpy(reinterpret_cast<char*>(text_words.data()) + KS_TEXT_LEAD, text.data(),
                text.size());
  }
  const uint32_t tiles = (text_end + 4095) / 4096;
  blobs.resize(KS_BLOB_WORDS + tiles + 1);
  const Blob blob{
      .begin = KS_TEXT_LEAD, .end = text_end, .own_begin = KS_TEXT_LEAD, .own_end = text_end};
  std::memcpy(blobs.data(), &blob, sizeof(blob));
  tables.assign(table.begin(), table.end());
  hit_words.assign(std::max(hit_capacity, 1u) * KS_HIT_WORDS, 0xeeeeeeee);
  control.resize(RingAt(tenants) + ring_slots * KS_SLOT_WORDS);
  for (uint32_t i = 0; i < tenants; ++i) control[mask_at(i)] = ~0u;
  control[KS_CTL_DIRECTORY_AT + KS_DIR_GENERATION] = 1;
  control[KS_CTL_DIRECTORY_AT + KS_DIR_SIZE] = static_cast<uint32_t>(table.size());
  constants.resize(KS_CONSTANTS);
  constants[KS_CONST_ABI] = KS_ABI_VERSION;
  constants[KS_CONST_EPOCH] = 7;
  constants[KS_CONST_RING_AT] = RingAt(tenants);
  constants[KS_CONST_RING_SLOTS] = ring_slots;
  constants[KS_CONST_TENANTS] = tenants;
  constants[KS_CONST_TEXT_END] = text_end;
  constants[KS_CONST_BLOBS] = 1;
  constants[KS_CONST_TILES] = tiles;
  constants[KS_CONST_TABLE_WORDS] = static_cast<uint32_t>(table.size());
  constants[KS_CONST_HIT_CAPACITY] = hit_capacity;
  constants[KS_CONST_CLAIMS] = ring_slots;
}

Slot DirectEpoch::ScanSlot() const {
  Slot slot;
  slot.status = KS_STATE_PUBLISHED;
  slot.opcode = KS_OP_SCAN;
  slot.generation = 1;
  slot.begin = KS_TEXT_LEAD;
  slot.end = constants[KS_CONST_TEXT_END];
  slot.readable = slot.end;
  return slot;
}

void DirectEpoch::Publish(uint32_t index, Slot slot) {
  std::memcpy(&control[constants[KS_CONST_RING_AT] + index * KS_SLOT_WORDS], &slot, sizeof(slot));
}

void DirectEpoch::Run() {
  constants[KS_CONST_FIRST_SLOT] = first;
  constants[KS_CONST_SLOT_COUNT] = count;
  const std::span<std::byte> bindings[] = {
      std::as_writable_bytes(std::span(control)), std::as_writable_bytes(std::span(text_words)),
      std::as_writable_bytes(std::span(blobs)), std::as_writable_bytes(std::span(tables)),
      std::as_writable_bytes(std::span(hit_words))};
  megakernel::RunScanOnCpu({.bindings = bindings, .constants = constants});
}

Slot DirectEpoch::slot(uint32_t index) const {
  Slot slot;
  std::memcpy(static_cast<void*>(&slot),
              &control[constants[KS_CONST_RING_AT] + index * KS_SLOT_WORDS], sizeof(slot));
  return slot;
}

std::vector<HitRecord> DirectEpoch::hits() const {
  std::vector<HitRecord> records(std::min(control[KS_CTL_HITS], constants[KS_CONST_HIT_CAPACITY]));
  if (!records.empty())
    std::memcpy(static_cast<void*>(records.data()), hit_words.data(), records.size() * 8);
  return records;
}

std::vector<megakernel::DebugRecord> DirectEpoch::log() const {
  std::vector<megakernel::DebugRecord> records(
      std::min(control[KS_CTL_LOG_CURSOR], KS_CTL_LOG_RECORDS));
  if (!records.empty()) {
    std::memcpy(static_cast<void*>(records.data()), &control[KS_CTL_LOG_AT],
                records.size() * sizeof(records[0]));
  }
  return records;
}

std::vector<LiteralHit> ScanDirectly(const megakernel::Table& table,
                                     std::span<const uint8_t> text) {
  DirectEpoch epoch(1, 1, text, table.words, 1 << 20);
  epoch.Publish(0, epoch.ScanSlot());
  epoch.Run();
  std::vector<LiteralHit> hits;
  for (const HitRecord& record : epoch.hits()) {
    const uint64_t start = record.position - KS_TEXT_LEAD;
    const uint32_t length = table.words[table.words[KS_TABLE_RECORDS_AT] +
                                        size_t{record.literal()} * KS_RECORD_WORDS + 1] &
                            KS_RECORD_LENGTH_MASK;
    hits.push_back({start, start + length, record.literal()});
  }
  std::sort(hits.begin(), hits.end());
  return hits;
}

}  // namespace keysieve::test
