// SPDX-License-Identifier: MIT
#include "megakernel/session/hits.h"

#include <algorithm>
#include <array>

#include "evidence/base/status.h"

namespace keysieve::megakernel {
namespace {

constexpr uint32_t kPositionShift = 28;
constexpr uint32_t kLengthShift = 20;
constexpr uint32_t kDigitBits = 12;  // two passes for 16 MiB

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

const Blob* HitCollector::BlobOf(uint32_t position) {
  // Hits come in bursts from one place: the last blob is a good guess.
  if (last_ != nullptr && position >= last_->begin && position < last_->end) return last_;
  const auto after =
      std::upper_bound(packing_.blobs.begin(), packing_.blobs.end(), position,
                       [](uint32_t at, const Blob& blob) { return at < blob.begin; });
  last_ = after == packing_.blobs.begin() ? nullptr : &*std::prev(after);
  return last_;
}

absl::Status HitCollector::TakeOne(const EpochView& view, const HitRecord& record, size_t index) {
  const uint32_t literal = record.literal();
  if (literal >= lengths_.size()) {
    return Violation(Cat("hit ", index, " names literal ", literal, " of ", lengths_.size()));
  }
  const uint32_t place = (record.slot() + view.ring_slots - view.range.first) % view.ring_slots;
  if (record.slot() >= view.ring_slots || place >= view.range.count) {
    return Violation(Cat("hit ", index, " names slot ", record.slot(), ", not of this epoch"));
  }
  const Slot& slot = view.published[place];
  if (record.position < slot.begin || record.position >= slot.end) {
    return Violation(Cat("hit ", index, " at ", record.position, " lies outside its slot's [",
                         slot.begin, ", ", slot.end, ")"));
  }
  const Blob* blob = BlobOf(record.position);
  if (blob == nullptr || record.position < blob->own_begin || record.position >= blob->own_end ||
      lengths_[literal] > blob->end - record.position) {
    return Violation(Cat("hit ", index, " at ", record.position, " lies in no piece"));
  }
  ++seen_[place];
  keys_.push_back(uint64_t{record.position} << kPositionShift |
                  uint64_t{lengths_[literal]} << kLengthShift | literal);
  return absl::OkStatus();
}

absl::Status HitCollector::Take(const EpochView& view, std::span<const HitRecord> records) {
  seen_.assign(view.range.count, 0);
  keys_.reserve(keys_.size() + records.size());
  for (size_t i = 0; i < records.size(); ++i) {
    KS_RETURN_IF_ERROR(TakeOne(view, records[i], i));
  }
  for (uint32_t i = 0; i < view.range.count; ++i) {
    if (seen_[i] != view.returned[i].hits) {
      return Violation(Cat("slot ", (view.range.first + i) % view.ring_slots, " counts ",
                           view.returned[i].hits, " hits, its records are ", seen_[i]));
    }
  }
  return absl::OkStatus();
}

namespace {

// Stable counting sort by one digit of the position.
void SortByDigit(std::vector<uint64_t>& keys, std::vector<uint64_t>& spare, uint32_t shift) {
  constexpr uint64_t kMask = (1u << kDigitBits) - 1;
  std::array<uint32_t, kMask + 2> starts{};
  for (uint64_t key : keys) ++starts[(key >> shift & kMask) + 1];
  for (size_t i = 1; i < starts.size(); ++i) starts[i] += starts[i - 1];
  spare.resize(keys.size());
  for (uint64_t key : keys) spare[starts[key >> shift & kMask]++] = key;
  keys.swap(spare);
}

// By position with counting passes, then the few that share a position by comparison.
void SortKeys(std::vector<uint64_t>& keys, uint32_t text_end) {
  if (keys.size() < 512) {
    std::sort(keys.begin(), keys.end());
    return;
  }
  std::vector<uint64_t> spare;
  for (uint32_t bits = 0; text_end >> bits != 0; bits += kDigitBits) {
    SortByDigit(keys, spare, kPositionShift + bits);
    if (bits + kDigitBits >= 32) break;
  }
  for (size_t first = 0; first < keys.size();) {
    size_t last = first + 1;
    while (last < keys.size() && keys[last] >> kPositionShift == keys[first] >> kPositionShift) {
      ++last;
    }
    if (last - first > 1) std::sort(keys.begin() + first, keys.begin() + last);
    first = last;
  }
}

}  // namespace

std::vector<std::vector<LiteralHit>> HitCollector::Results() {
  SortKeys(keys_, packing_.text_end);
  std::vector<std::vector<LiteralHit>> results(packing_.blobs.size());
  size_t next = 0;
  for (size_t i = 0; i < packing_.blobs.size() && next < keys_.size(); ++i) {
    const Blob& blob = packing_.blobs[i];
    size_t last = next;
    while (last < keys_.size() && keys_[last] >> kPositionShift < blob.end) ++last;
    std::vector<LiteralHit>& hits = results[packing_.piece_of[i]];
    hits.reserve(last - next);
    for (; next < last; ++next) {
      const uint64_t start = (keys_[next] >> kPositionShift) - blob.begin;
      const uint64_t length = keys_[next] >> kLengthShift & 0xff;
      hits.push_back(
          {start, start + length, static_cast<uint32_t>(keys_[next] & KS_HIT_LITERAL_MASK)});
    }
  }
  return results;
}

}  // namespace keysieve::megakernel
