// SPDX-License-Identifier: MIT
// Reads what the device wrote for one epoch and believes none of it: control words, slots and hit
// records are held to the layout, to what was published and to one another before a hit is taken.
//
//   HitCollector hits(packing, lengths);
//   EpochCounts counts = *ReadCounts(epoch);
//   hits.Take(epoch, records);        // INTERNAL: an integrity violation
//   auto per_piece = hits.Results();
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "megakernel/abi.h"
#include "megakernel/literal.h"
#include "megakernel/session/packer.h"
#include "megakernel/session/ring.h"

namespace keysieve::megakernel {

// One entry a piece, each sorted by (start, end, pattern).
using PieceHits = std::vector<std::vector<LiteralHit>>;

// One epoch as the host knows it and as the device left it. Borrows all of it.
struct EpochView {
  uint32_t epoch = 0;
  SlotRange range;  // of the ring
  uint32_t ring_slots = 0;
  std::span<const Slot> published;       // the epoch's slots in claim order
  std::span<const Slot> returned;        // the same slots as read back
  std::span<const uint32_t> control;     // the control block as read back, from word 0
  std::span<const TenantRules> tenants;  // as published, one a tenant; none = no rules
  bool tagged = false;                   // records carry TagOf(epoch) above their position
};

struct EpochCounts {
  uint64_t hits = 0;       // exact, unless saturated
  bool saturated = false;  // too many to count: at least kHitsCeiling
  bool requeued = false;   // some slots were put off by a quota: their hits are yet to be found
  bool forbidden = false;  // some slots were of a tenant that may not scan
  bool cut_short = false;  // some slots reached their step limit: not all hits were found
};
inline constexpr uint32_t kHitsCeiling = 0x80000000u;

// What tagged records of an epoch carry above KS_HIT_TAG_SHIFT. Never 0.
inline uint32_t TagOf(uint32_t epoch) { return (epoch % 63 + 1) << KS_HIT_TAG_SHIFT; }

// Checks everything but the hit records. INTERNAL names the word that is wrong.
absl::StatusOr<EpochCounts> ReadCounts(const EpochView& view);

// Whether a slot that passed ReadCounts() was scanned to its end.
inline bool CutShort(const Slot& returned) { return returned.dense == KS_SLOT_CUT_SHORT; }

// Whether a slot that passed ReadCounts() was put off by its tenant's quota.
inline bool PutOff(const Slot& returned) {
  return returned.status == KS_STATE_REQUEUE && !CutShort(returned);
}

// Collects the hits of a batch over one epoch or, after an overflow, several. The device leaves
// them in any order; each slot's are sorted by themselves, in the time of a few passes. One thread
// at a time, which need not be the lane's.
// What decoding works in; kept from batch to batch, so that it need not be allocated again.
struct HitScratch {
  std::vector<uint64_t> keys;   // position, length, literal: 32, 8 and 20 bits
  std::vector<uint64_t> spare;  // a slot's, while it is sorted
  std::vector<uint32_t> buckets;
  std::vector<uint32_t> starts;  // of each slot's keys
  std::vector<uint32_t> next;    // key that a slot's next record becomes
};

class HitCollector {
 public:
  // `lengths`: of each literal. All are borrowed until Results().
  HitCollector(const Packing& packing, std::span<const uint8_t> lengths, HitScratch& scratch)
      : packing_(packing), lengths_(lengths), scratch_(scratch) {}

  // Takes all records of an epoch whose counts were read and fitted the queue. INTERNAL names the
  // record that is out of bounds, or the slot whose count does not match.
  absl::Status Take(const EpochView& view, std::span<const HitRecord> records);

  // INTERNAL names the hit that lies in no piece.
  absl::StatusOr<PieceHits> Results();

 private:
  absl::Status PlaceAll(const EpochView& view, std::span<const HitRecord> records);
  absl::Status Misplaced(const EpochView& view, const HitRecord& record, size_t index) const;
  void SortSlot(const Slot& slot, uint64_t* first, uint64_t* last);
  absl::Status TakeBlob(const Blob& blob, size_t first, size_t last,
                        std::vector<LiteralHit>& hits) const;

  const Packing& packing_;
  std::span<const uint8_t> lengths_;
  HitScratch& scratch_;
  size_t count_ = 0;     // of keys
  bool ordered_ = true;  // the keys are, from slot to slot
};

}  // namespace keysieve::megakernel
