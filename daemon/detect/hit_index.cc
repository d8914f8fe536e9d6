// SPDX-License-Identifier: MIT
// A counting sort, which keeps the hits' order; only hits that come unsorted are sorted again.
#include "daemon/detect/hit_index.h"

#include <algorithm>

namespace keysieve::detect {

HitIndex::HitIndex(std::span<const megakernel::LiteralHit> hits, size_t literals)
    : first_(literals + 1, 0) {
  bool sorted = true;
  uint64_t before = 0;
  for (const megakernel::LiteralHit& hit : hits) {
    if (hit.pattern >= literals) continue;
    ++first_[hit.pattern + 1];
    sorted &= before <= hit.start;
    before = hit.start;
  }
  for (size_t i = 1; i <= literals; ++i) first_[i] += first_[i - 1];
  starts_.resize(first_[literals]);
  std::vector<size_t> next(first_.begin(), first_.end() - 1);
  for (const megakernel::LiteralHit& hit : hits) {
    if (hit.pattern < literals) starts_[next[hit.pattern]++] = hit.start;
  }
  if (sorted) return;
  for (size_t i = 0; i < literals; ++i) {
    std::sort(starts_.begin() + static_cast<ptrdiff_t>(first_[i]),
              starts_.begin() + static_cast<ptrdiff_t>(first_[i + 1]));
  }
}

std::span<const uint64_t> HitIndex::StartsOfAny(std::span<const uint32_t> literals,
                                                std::vector<uint64_t>* scratch) const {
  std::span<const uint64_t> only;
  scratch->clear();
  for (const uint32_t literal : literals) {
    const std::span<const uint64_t> starts = StartsOf(literal);
    if (starts.empty()) continue;
    if (only.empty()) {
      only = starts;
      continue;
    }
    if (scratch->empty()) scratch->assign(only.begin(), only.end());
    scratch->insert(scratch->end(), starts.begin(), starts.end());
  }
  if (scratch->empty()) return only;
  std::sort(scratch->begin(), scratch->end());
  return *scratch;
}

}  // namespace keysieve::detect
