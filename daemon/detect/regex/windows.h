// SPDX-License-Identifier: MIT
// RE2 in windows round the literals' hits instead of over whole blobs, with exactly the whole
// blob's result. A hit at p means that matches holding this literal lie within [p - before, p +
// after). Such windows are merged where they meet; then every match, by whatever path, lies inside
// one window, and RE2 run there with the whole blob as its context chooses what it would have
// chosen.
//
//   WindowedMatcher matcher(re, cut.before, cut.after);
//   matcher.ForEachMatch(blob, positions, [&](std::span<const std::string_view> groups) {
//     ... groups[0] is the match; a group that took no part has a null data()
//   });
#pragma once

#include <re2/re2.h>

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "daemon/detect/regex/cuts.h"

namespace keysieve::detect::regex {

// Where matches may lie: [begin, end), none beginning after `last_start`.
struct Window {
  uint64_t begin = 0;
  uint64_t end = 0;
  uint64_t last_start = 0;
  bool operator==(const Window&) const = default;
};

// A place where a required thing may begin: anywhere in [first, last]. A literal's hit is one byte
// position; a run of a class longer than required is a range.
struct Sighting {
  uint64_t first = 0;
  uint64_t last = 0;
};

// The windows of `sightings` (ascending by `first`; `last` not descending) in a blob of `size`
// bytes: disjoint, not even touching, ascending. Pure.
std::vector<Window> WindowsOf(std::span<const Sighting> sightings, uint64_t before, uint64_t after,
                              uint64_t size);

// The runs of `probe` in `blob`, as sightings. Looks at every probe.min_bytes-th byte only, and
// closer where one belongs to the class.
std::vector<Sighting> FindRuns(std::string_view blob, const RunProbe& probe);

class WindowedMatcher {
 public:
  // Borrows `re`, which must outlive this and be compiled, in Latin-1, from the pattern that the
  // cut was taken from. `before` and `after` are the cut's or the run's reach.
  WindowedMatcher(const re2::RE2& re, uint64_t before, uint64_t after);

  // Calls `visit(std::span<const std::string_view> groups)` for each match of the whole blob:
  // leftmost first, not overlapping, in order. `positions` are where the cut's literals begin in
  // the blob: all of them, ascending; repeats are allowed. Const, so one matcher serves many
  // threads.
  template <typename Visit>
  void ForEachMatch(std::string_view blob, std::span<const uint64_t> positions,
                    Visit&& visit) const {
    InWindows(blob, WindowsOf(ToSightings(positions), before_, after_, blob.size()), visit);
  }

  // The same from a run's sightings, FindRuns(blob, probe).
  template <typename Visit>
  void ForEachMatchOfRuns(std::string_view blob, std::span<const Sighting> runs,
                          Visit&& visit) const {
    InWindows(blob, WindowsOf(runs, before_, after_, blob.size()), visit);
  }

  // The same with no help: RE2 over the whole blob. An empty match that begins where the match
  // before it ended is left out, as in Go's FindAll.
  template <typename Visit>
  void ForEachMatchOfBlob(std::string_view blob, Visit&& visit) const {
    const Window whole{0, blob.size(), blob.size()};
    InWindows(blob, std::span(&whole, 1), visit);
  }

 private:
  // RE2 between `at` and the window's end. True if it matched; `groups` are then filled.
  bool Next(std::string_view blob, uint64_t at, const Window& window,
            std::vector<re2::StringPiece>* scratch, std::vector<std::string_view>* groups) const;
  static std::vector<Sighting> ToSightings(std::span<const uint64_t> positions);

  template <typename Visit>
  void InWindows(std::string_view blob, std::span<const Window> windows, Visit& visit) const;

  const re2::RE2& re_;
  uint64_t before_;
  uint64_t after_;
  int groups_;
};

template <typename Visit>
void WindowedMatcher::InWindows(std::string_view blob, std::span<const Window> windows,
                                Visit& visit) const {
  std::vector<re2::StringPiece> scratch(static_cast<size_t>(groups_));
  std::vector<std::string_view> groups(static_cast<size_t>(groups_));
  for (const Window& window : windows) {
    uint64_t at = window.begin;
    bool after_match = false;  // a match ended at `at`: an empty one here is part of it
    while (at <= window.last_start && Next(blob, at, window, &scratch, &groups)) {
      const uint64_t start = static_cast<uint64_t>(groups[0].data() - blob.data());
      if (!groups[0].empty()) {
        visit(std::span<const std::string_view>(groups));
        at = start + groups[0].size();
        after_match = true;
        continue;
      }
      if (!after_match || start != at) visit(std::span<const std::string_view>(groups));
      at = start + 1;
      after_match = false;
    }
  }
}

}  // namespace keysieve::detect::regex
