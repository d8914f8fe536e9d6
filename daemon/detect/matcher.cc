// SPDX-License-Identifier: MIT
// From a rule's literals to where they begin, and on to the windows.
#include "daemon/detect/matcher.h"

#include <span>

namespace keysieve::detect {

void RuleMatcher::FindAll(std::string_view text, const HitIndex& hits,
                          std::vector<uint64_t>* scratch, std::vector<ByteRange>* matches) const {
  matches->clear();
  const auto visit = [&](std::span<const std::string_view> groups) {
    if (groups[0].empty()) return;
    const uint64_t start = static_cast<uint64_t>(groups[0].data() - text.data());
    matches->push_back({start, start + groups[0].size()});
  };
  switch (route_) {
    case Route::kLiterals:
      return windows_.ForEachMatch(text, hits.StartsOfAny(literals_, scratch), visit);
    case Route::kRuns:
      return windows_.ForEachMatchByRuns(text, visit);
    case Route::kWholeBlob:
      return windows_.ForEachMatchOfBlob(text, visit);
    case Route::kPath:
      return;
  }
}

}  // namespace keysieve::detect
