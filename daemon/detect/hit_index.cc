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

}  // namespace keysieve::detect
