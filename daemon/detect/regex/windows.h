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

#include "absl/container/inlined_vector.h"
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

// Turns sightings, ascending by `first` and `last` not descending, into windows: disjoint, not even
// touching, ascending.
class WindowMerger {
 public:
  // Of a blob of `size` bytes; a sighting's window reaches `before` and `after` it.
  WindowMerger(uint64_t before, uint64_t after, uint64_t size)
      : before_(before), after_(after), size_(size) {}

  // True if a window ended before this sighting: it is in `*done`.
  bool Add(const Sighting& sighting, Window* done);
  // True if one was still under way.
  bool Finish(Window* done) const;

 private:
  const uint64_t before_;
  const uint64_t after_;
  const uint64_t size_;
  bool any_ = false;
  Window window_;
};

// The runs of `probe` in `blob`, as sightings. Looks at every probe.min_bytes-th byte only, and
// closer where one belongs to the class.
std::vector<Sighting> FindRuns(std::string_view blob, const RunProbe& probe);

// Every group of the regex, for WindowedMatcher.
inline constexpr int kAllGroups = -1;

class WindowedMatcher {
 public:
  // Borrows `re`, which must outlive this and be compiled, in Latin-1, from the pattern analysed.
  // Compiles up to two small regexes of its own. Visitors see the match and the first `groups` of
  // its groups; without any, RE2 is at its fastest.
  WindowedMatcher(const re2::RE2& re, const Analysis& analysis, int groups = kAllGroups);

  // Calls `visit(std::span<const std::string_view> groups)` for each match of the whole blob,
  // leftmost first, not overlapping, in order. `positions` are where the cut's literals begin in
  // the blob: all of them, ascending; repeats are allowed. Without a cut the whole blob is run
  // over. Thread-safe.
  template <typename Visit>
  void ForEachMatch(std::string_view blob, std::span<const uint64_t> positions,
                    Visit&& visit) const {
    if (!has_cut_) return ForEachMatchOfBlob(blob, visit);
    Run run(*this, blob);
    uint64_t previous = UINT64_MAX;
    for (const uint64_t at : positions) {
      if (at == previous || at > blob.size()) continue;
      previous = at;
      if (Confirms(blob, at)) run.Add({at, at}, visit);
    }
    run.Finish(visit);
  }

  // The same for an analysis that has no cut, but a run (else the whole blob is run over).
  template <typename Visit>
  void ForEachMatchByRuns(std::string_view blob, Visit&& visit) const {
    if (has_cut_ || !run_) return ForEachMatchOfBlob(blob, visit);
    Run run(*this, blob);
    for (const Sighting& sighting : FindRuns(blob, *run_)) run.Add(sighting, visit);
    run.Finish(visit);
  }

  // The same for any analysis: RE2 over the whole blob. An empty match that begins where the match
  // before it ended is left out, as in Go's FindAll.
  template <typename Visit>
  void ForEachMatchOfBlob(std::string_view blob, Visit&& visit) const {
    Run run(*this, blob);
    run.In(Window{0, blob.size(), blob.size()}, /*open=*/false, visit);
  }

 private:
  // One pass over one blob, from window to window.
  class Run {
   public:
    Run(const WindowedMatcher& matcher, std::string_view blob)
        : matcher_(matcher),
          blob_(blob),
          merger_(matcher.before_, matcher.open() ? matcher.prefix_bytes_ : matcher.after_,
                  blob.size()),
          pieces_(static_cast<size_t>(matcher.groups_) + 1),
          groups_(pieces_.size()) {}

    template <typename Visit>
    void Add(const Sighting& sighting, Visit& visit) {
      Window window;
      if (merger_.Add(sighting, &window)) In(window, matcher_.open(), visit);
    }
    template <typename Visit>
    void Finish(Visit& visit) {
      Window window;
      if (merger_.Finish(&window)) In(window, matcher_.open(), visit);
    }
    // Visits the matches that begin in `window`; if `open`, they may end behind it.
    template <typename Visit>
    void In(const Window& window, bool open, Visit& visit);

   private:
    // The first match from at_ on that begins in `window`, or if `open` anywhere behind it. False
    // if there is none; at_ is then past the blob if no window has any.
    bool Next(const Window& window, bool open);
    // The same where few places are left at which it could begin, which are tried one by one.
    bool NextOfFew(const Window& window, bool open);
    bool MayTryFew(const Window& window, bool open) const;
    // RE2 from `start` on, up to the window's end or if `open` the blob's.
    bool Match(uint64_t start, const Window& window, bool open, re2::RE2::Anchor anchor);

    const WindowedMatcher& matcher_;
    const std::string_view blob_;
    WindowMerger merger_;
    absl::InlinedVector<re2::StringPiece, 4> pieces_;
    absl::InlinedVector<std::string_view, 4> groups_;
    uint64_t at_ = 0;
    bool after_match_ = false;  // a match ended at at_: an empty one there is left out
    uint32_t in_vain_ = 0;      // tries that may have read on to the blob's end
  };

  bool open() const { return prefix_ != nullptr; }
  // Whether a match may hold the literal that begins at `at`.
  bool Confirms(std::string_view blob, uint64_t at) const;

  const re2::RE2& re_;
  int groups_;
  bool has_cut_;
  uint64_t before_ = kUnbounded;
  uint64_t after_ = kUnbounded;
  std::optional<RunProbe> run_;
  std::optional<ByteSet> first_;
  std::unique_ptr<const re2::RE2> confirm_;  // null: every hit counts
  uint64_t confirm_bytes_ = 0;
  std::unique_ptr<const re2::RE2> prefix_;  // null: windows end where matches must
  uint64_t prefix_bytes_ = 0;
};

template <typename Visit>
void WindowedMatcher::Run::In(const Window& window, bool open, Visit& visit) {
  if (at_ < window.begin) {
    at_ = window.begin;
    after_match_ = false;
  }
  while (at_ <= window.last_start && Next(window, open)) {
    const std::string_view match = groups_[0];
    const uint64_t start = static_cast<uint64_t>(match.data() - blob_.data());
    if (!match.empty() || !after_match_ || start != at_) {
      visit(std::span<const std::string_view>(groups_));
    }
    at_ = start + std::max<size_t>(match.size(), 1);
    after_match_ = !match.empty();
  }
}

}  // namespace keysieve::detect::regex
