// SPDX-License-Identifier: MIT
// Why merging is enough: let a match begin at s, and let RE2 weigh any path from s. That path, run
// to its end e, holds a sighting p of its own with p - before <= s and e <= p + after. So [s, e)
// lies inside p's window; and all these windows share s, so they are one after merging. RE2, held
// to that window, thus weighs the same paths as over the whole blob and picks the same. Enlarging a
// window only where a match touches its edge is not enough: `a.*z|a` on "abcz" touches nothing.
#include "daemon/detect/regex/windows.h"

#include <algorithm>

namespace keysieve::detect::regex {

std::vector<Window> WindowsOf(std::span<const Sighting> sightings, uint64_t before, uint64_t after,
                              uint64_t size) {
  std::vector<Window> windows;
  for (const Sighting& sighting : sightings) {
    if (sighting.first > size) break;
    const uint64_t begin = sighting.first - std::min(before, sighting.first);
    const uint64_t end = std::min(AddWidth(sighting.last, after), size);
    if (!windows.empty() && begin <= windows.back().end) {
      windows.back().end = std::max(windows.back().end, end);
      windows.back().last_start = std::max(windows.back().last_start, sighting.last);
    } else {
      windows.push_back({begin, end, sighting.last});
    }
  }
  return windows;
}

std::vector<Sighting> FindRuns(std::string_view blob, const RunProbe& probe) {
  std::vector<Sighting> runs;
  const size_t step = std::max<uint64_t>(1, probe.min_bytes);
  auto inside = [&](size_t i) { return probe.set[static_cast<uint8_t>(blob[i])]; };
  // Every run of `step` bytes covers a byte that is looked at here.
  for (size_t at = step - 1; at < blob.size();) {
    if (!inside(at)) {
      at += step;
      continue;
    }
    size_t begin = at, end = at + 1;
    while (begin > 0 && inside(begin - 1)) --begin;
    while (end < blob.size() && inside(end)) ++end;
    if (end - begin >= step) runs.push_back({begin, end - step});
    at = end + step;
  }
  return runs;
}

WindowedMatcher::WindowedMatcher(const re2::RE2& re, uint64_t before, uint64_t after)
    : re_(re), before_(before), after_(after), groups_(re.NumberOfCapturingGroups() + 1) {}

bool WindowedMatcher::Next(std::string_view blob, uint64_t at, const Window& window,
                           std::vector<re2::StringPiece>* scratch,
                           std::vector<std::string_view>* groups) const {
  const re2::StringPiece text(blob.data(), blob.size());
  if (!re_.Match(text, at, window.end, re2::RE2::UNANCHORED, scratch->data(), groups_)) {
    return false;
  }
  for (size_t i = 0; i < groups->size(); ++i) {
    (*groups)[i] = std::string_view((*scratch)[i].data(), (*scratch)[i].size());
  }
  return true;
}

std::vector<Sighting> WindowedMatcher::ToSightings(std::span<const uint64_t> positions) {
  std::vector<Sighting> sightings;
  sightings.reserve(positions.size());
  for (const uint64_t position : positions) sightings.push_back({position, position});
  return sightings;
}

}  // namespace keysieve::detect::regex
