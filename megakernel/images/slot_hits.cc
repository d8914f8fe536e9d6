// SPDX-License-Identifier: MIT
#include "megakernel/images/slot_hits.h"

#include <algorithm>
#include <cstring>

namespace keysieve::megakernel {
namespace {

constexpr uint32_t kPositionShift = 28;
constexpr uint32_t kLengthShift = 20;

}  // namespace

// False once there are too many.
bool SlotHits::Take(const LiteralGroup& group, uint32_t start) {
  ++pairs_;
  if (start < blob_.own_begin || start >= blob_.own_end) {
    blob_ = bounds_of_(context_, start);
    if (start < blob_.own_begin || start >= blob_.own_end) return true;
  }
  if (group.length > blob_.end - start) return true;
  if (keys_.size() + group.others >= kMost) return false;
  const uint64_t place = uint64_t{start} << kPositionShift | uint64_t{group.length} << kLengthShift;
  keys_.push_back(place | group.first);
  for (const uint32_t id : database_.others(group)) keys_.push_back(place | id);
  return true;
}

int SlotHits::OnMatch(unsigned index, unsigned long long, unsigned long long to, unsigned,
                      void* opaque) {
  SlotHits& hits = *static_cast<SlotHits*>(opaque);
  const LiteralGroup& group = hits.database_.group(index);
  if (to < group.length) return 0;  // its NULs would begin before the slot
  const uint32_t start = hits.slot_.begin + static_cast<uint32_t>(to) - group.length;
  if (start >= hits.slot_.end) return 0;
  for (uint32_t i = 0; i < group.nuls; ++i) {
    if (hits.text_[start + i] != 0) return 0;
  }
  return hits.Take(group, start) ? 0 : 1;
}

// Literals of NULs alone lie in runs of NULs.
bool SlotHits::FindNuls() {
  if (database_.nul_groups().empty()) return true;
  for (uint32_t at = slot_.begin; at < slot_.end;) {
    const void* found = std::memchr(text_ + at, 0, slot_.end - at);
    if (found == nullptr) break;
    const auto first = static_cast<uint32_t>(static_cast<const uint8_t*>(found) - text_);
    uint32_t last = first;
    while (last < slot_.readable && text_[last] == 0) ++last;
    for (at = first; at < last && at < slot_.end; ++at) {
      for (const LiteralGroup& group : database_.nul_groups()) {
        if (group.length <= last - at && !Take(group, at)) return false;
      }
    }
  }
  return true;
}

// Matches come by their ends, so each is at most a literal's length out of its place. Where that is
// far in hits, a sort proper is faster.
void SlotHits::Sort() {
  constexpr size_t kFar = 64;
  for (size_t i = 1; i < keys_.size(); ++i) {
    const uint64_t key = keys_[i];
    size_t at = i;
    while (at > 0 && keys_[at - 1] > key && i - at < kFar) {
      keys_[at] = keys_[at - 1];
      --at;
    }
    keys_[at] = key;
    if (i - at == kFar) return std::sort(keys_.begin(), keys_.end());
  }
}

bool SlotHits::Find(const CpuDatabase::Workspace& workspace) {
  keys_.clear();
  pairs_ = 0;
  const uint32_t margin = database_.max_literal_bytes() - 1;
  const uint32_t beyond = std::min(margin, slot_.readable - slot_.end);
  const std::span<const uint8_t> text(text_ + slot_.begin, slot_.end - slot_.begin + beyond);
  if (!database_.Scan(text, workspace, &SlotHits::OnMatch, this) || !FindNuls()) return false;
  Sort();
  return true;
}

}  // namespace keysieve::megakernel
