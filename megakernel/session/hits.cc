// SPDX-License-Identifier: MIT
#include "megakernel/session/hits.h"

#include <algorithm>

#include "evidence/base/status.h"

namespace keysieve::megakernel {
namespace {

constexpr uint32_t kPositionShift = 28;
constexpr uint32_t kLengthShift = 20;

absl::Status Violation(const std::string& what) {
  return absl::InternalError(Cat("integrity: ", what, "; the epoch's answers are not used"));
}

absl::Status CheckControl(const EpochView& view) {
  const auto& control = view.control;
  if (control.size() < KS_CTL_TENANTS_AT) return Violation("the control block is cut short");
  if (control[KS_CTL_MAGIC] != KS_ABI_MAGIC || control[KS_CTL_VERSION] != KS_ABI_VERSION) {
    return Violation("the control block has lost its magic or version");
  }
  if (control[KS_CTL_EPOCH] != view.epoch) {
    return Violation(
        Cat("the device says epoch ", control[KS_CTL_EPOCH], ", published was ", view.epoch));
  }
  if (control[KS_CTL_DONE] != view.range.count) {
    return Violation(Cat(control[KS_CTL_DONE], " slots are done of ", view.range.count));
  }
  if (control[KS_CTL_FAULTS] != 0) {
    return Violation(
        Cat("the device refused ", control[KS_CTL_FAULTS], " slots of ", view.range.count));
  }
  return absl::OkStatus();
}

TenantRules RulesOf(const EpochView& view, const Slot& sent) {
  const uint32_t tenant = sent.tenant & 0xffff;
  return tenant < view.tenants.size() ? view.tenants[tenant] : TenantRules{};
}

// The states a slot may come back in: done, cut short, or not begun because a rule says so.
bool MayComeBackAs(const Slot& got, const TenantRules& rules) {
  const bool untouched = got.hits == 0 && got.pairs == 0 && got.steps == 0 && got.dense == 0;
  if (got.status == KS_STATE_DONE) return true;
  if (got.status == KS_STATE_REQUEUE) return CutShort(got) || (rules.epoch_bytes && untouched);
  return got.status == KS_STATE_YIELDED && untouched && (rules.opcodes >> KS_OP_SCAN & 1) == 0;
}

absl::Status CheckSlot(uint32_t index, const Slot& sent, const Slot& got,
                       const TenantRules& rules) {
  const bool cut_short = CutShort(got) && got.status == KS_STATE_REQUEUE;
  if (!MayComeBackAs(got, rules)) {
    return Violation(Cat("slot ", index, " came back in state ", got.status));
  }
  if (got.opcode != sent.opcode || got.tenant != sent.tenant || got.epoch != sent.epoch ||
      got.table != sent.table || got.generation != sent.generation || got.begin != sent.begin ||
      got.end != sent.end || got.readable != sent.readable || got.limits != sent.limits) {
    return Violation(Cat("slot ", index, " came back with other fields than it was given"));
  }
  if (got.survivors != 0 || (got.dense != 0 && !cut_short) || got.spilled > got.hits) {
    return Violation(Cat("slot ", index, " counts what this program cannot find"));
  }
  return absl::OkStatus();
}

// The program counts bytes for a tenant that it was given for that tenant.
absl::Status CheckServed(const EpochView& view) {
  std::vector<uint64_t> given(view.tenants.size(), 0);
  for (const Slot& slot : view.published) {
    if ((slot.tenant & 0xffff) < given.size()) given[slot.tenant & 0xffff] += slot.end - slot.begin;
  }
  const size_t at = KS_CTL_TENANTS_AT + KS_TENANT_SERVED * given.size();
  for (size_t tenant = 0; tenant < given.size(); ++tenant) {
    if (at + tenant >= view.control.size() || view.control[at + tenant] > given[tenant]) {
      return Violation(Cat("more bytes were served to tenant ", tenant, " than the ", given[tenant],
                           " of its slots"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<EpochCounts> ReadCounts(const EpochView& view) {
  KS_RETURN_IF_ERROR(CheckControl(view));
  KS_RETURN_IF_ERROR(CheckServed(view));
  EpochCounts counts;
  uint64_t sum = 0;
  for (uint32_t i = 0; i < view.range.count; ++i) {
    KS_RETURN_IF_ERROR(CheckSlot((view.range.first + i) % view.ring_slots, view.published[i],
                                 view.returned[i], RulesOf(view, view.published[i])));
    counts.requeued = counts.requeued || PutOff(view.returned[i]);
    counts.forbidden = counts.forbidden || view.returned[i].status == KS_STATE_YIELDED;
    sum += view.returned[i].hits;
    counts.saturated = counts.saturated || view.returned[i].hits >= kHitsCeiling;
    counts.cut_short = counts.cut_short || CutShort(view.returned[i]);
  }
  counts.hits = view.control[KS_CTL_HITS];
  counts.saturated = counts.saturated || counts.hits >= kHitsCeiling;
  if (!counts.saturated && sum != counts.hits) {
    return Violation(Cat("the slots count ", sum, " hits, the control block ", counts.hits));
  }
  return counts;
}

// ---- taking records ----

absl::Status HitCollector::Misplaced(const EpochView& view, const HitRecord& record,
                                     size_t index) const {
  const uint32_t literal = record.literal();
  if (literal >= lengths_.size()) {
    return Violation(Cat("hit ", index, " names literal ", literal, " of ", lengths_.size()));
  }
  if (view.tagged && (record.position ^ TagOf(view.epoch)) >> KS_HIT_TAG_SHIFT != 0) {
    return Violation(Cat("hit ", index, " carries the tag of another epoch than ", view.epoch));
  }
  const uint32_t place = (record.slot() + view.ring_slots - view.range.first) % view.ring_slots;
  if (record.slot() >= view.ring_slots || place >= view.range.count) {
    return Violation(Cat("hit ", index, " names slot ", record.slot(), ", not of this epoch"));
  }
  const Slot& slot = view.published[place];
  return Violation(Cat("hit ", index, " at ", record.position, " is outside [", slot.begin, ", ",
                       slot.end, ") or one more than the ", view.returned[place].hits,
                       " that slot ", record.slot(), " counts"));
}

absl::Status HitCollector::PlaceAll(const EpochView& view, std::span<const HitRecord> records) {
  const uint32_t tag = view.tagged ? TagOf(view.epoch) : 0;
  const uint32_t tag_mask = view.tagged ? ~0u << KS_HIT_TAG_SHIFT : 0;
  uint64_t* const keys = scratch_.keys.data();
  uint32_t* const next = scratch_.next.data();
  const uint32_t* const starts = scratch_.starts.data();
  for (size_t i = 0; i < records.size(); ++i) {
    const HitRecord record = records[i];
    const uint32_t literal = record.literal();
    const uint32_t position = record.position & ~tag_mask;
    uint32_t place = record.slot() - view.range.first;
    if (record.slot() < view.range.first) place += view.ring_slots;
    if (literal >= lengths_.size() || (record.position & tag_mask) != tag ||
        record.slot() >= view.ring_slots || place >= view.range.count) {
      return Misplaced(view, record, i);
    }
    const Slot& slot = view.published[place];
    if (position < slot.begin || position >= slot.end || next[place] == starts[place + 1]) {
      return Misplaced(view, record, i);
    }
    keys[next[place]++] = uint64_t{position} << kPositionShift |
                          uint64_t{lengths_[literal]} << kLengthShift | literal;
  }
  return absl::OkStatus();
}

absl::Status HitCollector::Take(const EpochView& view, std::span<const HitRecord> records) {
  const size_t before = count_;
  std::vector<uint32_t>& starts = scratch_.starts;
  starts.assign(1, static_cast<uint32_t>(before));
  for (uint32_t i = 0; i < view.range.count; ++i) {
    starts.push_back(starts.back() + view.returned[i].hits);
  }
  if (starts.back() - before != records.size()) {
    return Violation(Cat("the slots count ", starts.back() - before, " hits, there are ",
                         records.size(), " records"));
  }
  scratch_.next.assign(starts.begin(), starts.end() - 1);
  count_ = starts.back();
  if (scratch_.keys.size() < count_) scratch_.keys.resize(count_);
  // As many records as places, none placed twice: so every slot gets its own count.
  KS_RETURN_IF_ERROR(PlaceAll(view, records));
  for (uint32_t i = 0; i < view.range.count; ++i) {
    uint64_t* const first = scratch_.keys.data() + starts[i];
    uint64_t* const last = scratch_.keys.data() + starts[i + 1];
    SortSlot(view.published[i], first, last);
    if (first != last && starts[i] != 0 && *(first - 1) > *first) ordered_ = false;
  }
  return absl::OkStatus();
}

// ---- sorting ----

// Spreads a slot's keys over about as many buckets of equal width as there are keys, then orders
// each bucket. Keys that crowd into few buckets are sorted by comparison.
void HitCollector::SortSlot(const Slot& slot, uint64_t* first, uint64_t* last) {
  constexpr size_t kFew = 48;
  constexpr uint32_t kMaxBuckets = 1 << 14;
  if (std::is_sorted(first, last)) return;  // as a CPU's slots come
  const size_t count = last - first;
  if (count < kFew) {
    std::sort(first, last);
    return;
  }
  const uint32_t span = slot.end - slot.begin;
  uint32_t shift = 0;
  while (span >> shift > std::min<size_t>(count, kMaxBuckets)) ++shift;
  const auto bucket = [&slot, shift](uint64_t key) {
    return (static_cast<uint32_t>(key >> kPositionShift) - slot.begin) >> shift;
  };
  const uint32_t buckets = (span >> shift) + 1;
  std::vector<uint32_t>& ends = scratch_.buckets;
  std::vector<uint64_t>& spare = scratch_.spare;
  ends.assign(buckets + 1, 0);
  for (const uint64_t* key = first; key != last; ++key) ++ends[bucket(*key) + 1];
  for (uint32_t i = 1; i <= buckets; ++i) ends[i] += ends[i - 1];
  if (spare.size() < count) spare.resize(count);
  for (const uint64_t* key = first; key != last; ++key) spare[ends[bucket(*key)]++] = *key;
  // Each bucket's start has become its end.
  for (uint32_t i = 0, begin = 0; i < buckets; begin = ends[i++]) {
    const uint32_t size = ends[i] - begin;
    if (size < 2) continue;
    uint64_t* const keys = spare.data() + begin;
    if (size > 2) {
      std::sort(keys, keys + size);
    } else if (keys[1] < keys[0]) {
      std::swap(keys[0], keys[1]);
    }
  }
  std::copy_n(spare.data(), count, first);
}

// ---- results ----

absl::Status HitCollector::TakeBlob(const Blob& blob, size_t first, size_t last,
                                    std::vector<LiteralHit>& hits) const {
  hits.reserve(last - first);
  for (const uint64_t* next = scratch_.keys.data() + first; next != scratch_.keys.data() + last;
       ++next) {
    const uint64_t key = *next;
    const auto position = static_cast<uint32_t>(key >> kPositionShift);
    const uint64_t length = key >> kLengthShift & 0xff;
    if (position < blob.own_begin || position >= blob.own_end || length > blob.end - position) {
      return Violation(Cat("a hit of ", length, " bytes at ", position, " lies in no piece"));
    }
    const uint64_t start = position - blob.begin;
    hits.push_back({start, start + length, static_cast<uint32_t>(key & KS_HIT_LITERAL_MASK)});
  }
  return absl::OkStatus();
}

absl::StatusOr<PieceHits> HitCollector::Results() {
  const uint64_t* const keys = scratch_.keys.data();
  if (!ordered_) std::sort(scratch_.keys.begin(), scratch_.keys.begin() + count_);
  PieceHits results(packing_.blobs.size());
  size_t next = 0;
  for (size_t i = 0; i < packing_.blobs.size() && next < count_; ++i) {
    const Blob& blob = packing_.blobs[i];
    const size_t last =
        std::lower_bound(keys + next, keys + count_, uint64_t{blob.end} << kPositionShift) - keys;
    KS_RETURN_IF_ERROR(TakeBlob(blob, next, last, results[packing_.piece_of[i]]));
    next = last;
  }
  if (next < count_) return Violation("a hit lies past the last piece");
  return results;
}

}  // namespace keysieve::megakernel
