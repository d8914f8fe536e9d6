// SPDX-License-Identifier: MIT
// RE2 in windows round the literals' hits instead of over whole blobs, with exactly the whole
// blob's result. A hit at p means that matches holding this literal lie within [p - before, p +
// after). Such windows are merged where they meet; then every match, by whatever path, lies inside
// one window, and RE2 run there with the whole blob as its context chooses what it would have
// chosen.
//
// A hit that `confirm` does not match at is no part of a match and opens no window. Where matches
// have no greatest width, windows are as wide as the regex's prefix instead, and only a match of
// the prefix makes RE2 look beyond, up to the next match wherever it is.
//
//   WindowedMatcher matcher(re, Analyze(*ParseRegex(pattern), profile));
//   matcher.ForEachMatch(blob, positions, [&](std::span<const std::string_view> groups) {
//     ... groups[0] is the match; a group that took no part has a null data()
//   });
#pragma once

#include <re2/re2.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
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
  // Borrows `re`, which must outlive this and be compiled, in Latin-1, from the pattern analysed.
  // Compiles up to two small regexes of its own.
  WindowedMatcher(const re2::RE2& re, const Analysis& analysis);

  // Calls `visit(std::span<const std::string_view> groups)` for each match of the whole blob,
  // leftmost first, not overlapping, in order. `positions` are where the cut's literals begin in
  // the blob: all of them, ascending; repeats are allowed. Without a cut the whole blob is run
  // over. Thread-safe.
  template <typename Visit>
  void ForEachMatch(std::string_view blob, std::span<const uint64_t> positions,
                    Visit&& visit) const {
    if (!has_cut_) return ForEachMatchOfBlob(blob, visit);
    InWindows(blob, PlanFor(Confirmed(blob, positions), blob.size()), visit);
  }

  // The same for an analysis that has no cut, but a run (else the whole blob is run over).
  template <typename Visit>
  void ForEachMatchByRuns(std::string_view blob, Visit&& visit) const {
    if (has_cut_ || !run_) return ForEachMatchOfBlob(blob, visit);
    InWindows(blob, PlanFor(FindRuns(blob, *run_), blob.size()), visit);
  }

  // The same for any analysis: RE2 over the whole blob. An empty match that begins where the match
  // before it ended is left out, as in Go's FindAll.
  template <typename Visit>
  void ForEachMatchOfBlob(std::string_view blob, Visit&& visit) const {
    InWindows(blob, Plan{{Window{0, blob.size(), blob.size()}}, false}, visit);
  }

 private:
  struct Plan {
    std::vector<Window> windows;
    bool open = false;  // matches may end beyond their window: it is the prefix's
  };
  struct Groups {
    std::vector<re2::StringPiece> pieces;
    std::vector<std::string_view> views;
  };

  std::vector<Sighting> Confirmed(std::string_view blob, std::span<const uint64_t> positions) const;
  Plan PlanFor(std::span<const Sighting> sightings, uint64_t size) const;

  // The first match from `*at` on that begins in `window`, or with an open window anywhere behind
  // it. False if there is none; `*at` is then past the blob if no window has any.
  bool Next(std::string_view blob, const Window& window, bool open, uint64_t* at,
            Groups* groups) const;

  template <typename Visit>
  void InWindows(std::string_view blob, const Plan& plan, Visit& visit) const;

  const re2::RE2& re_;
  bool has_cut_;
  uint64_t before_ = kUnbounded;
  uint64_t after_ = kUnbounded;
  std::optional<RunProbe> run_;
  std::unique_ptr<const re2::RE2> confirm_;  // null: every hit counts
  uint64_t confirm_bytes_ = 0;
  std::unique_ptr<const re2::RE2> prefix_;  // null: windows end where matches must
  uint64_t prefix_bytes_ = 0;
};

template <typename Visit>
void WindowedMatcher::InWindows(std::string_view blob, const Plan& plan, Visit& visit) const {
  if (plan.windows.empty()) return;  // by far the commonest
  const size_t count = static_cast<size_t>(re_.NumberOfCapturingGroups()) + 1;
  Groups groups{std::vector<re2::StringPiece>(count), std::vector<std::string_view>(count)};
  uint64_t at = 0;
  bool after_match = false;  // a match ended at `at`: an empty one there is left out
  for (const Window& window : plan.windows) {
    if (at < window.begin) {
      at = window.begin;
      after_match = false;
    }
    while (at <= window.last_start && Next(blob, window, plan.open, &at, &groups)) {
      const std::string_view match = groups.views[0];
      const uint64_t start = static_cast<uint64_t>(match.data() - blob.data());
      if (!match.empty() || !after_match || start != at) {
        visit(std::span<const std::string_view>(groups.views));
      }
      at = start + std::max<size_t>(match.size(), 1);
      after_match = !match.empty();
    }
  }
}

}  // namespace keysieve::detect::regex
