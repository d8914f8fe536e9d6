// SPDX-License-Identifier: MIT
// Why merging is enough: let a match begin at s, and let RE2 weigh any path from s. That path, run
// to its end e, holds a sighting p of its own with p - before <= s and e <= p + after. So [s, e)
// lies inside p's window; and all these windows share s, so they are one after merging. RE2, held
// to that window, thus weighs the same paths as over the whole blob and picks the same. Enlarging a
// window only where a match touches its edge is not enough: `a.*z|a` on "abcz" touches nothing.
#include "daemon/detect/regex/windows.h"

#include <algorithm>
#include <utility>

namespace keysieve::detect::regex {
namespace {

// Null if RE2 refuses it, which a nested count above its limit can do; then nothing is ruled out.
std::unique_ptr<const re2::RE2> Helper(const Prefix& prefix) {
  re2::RE2::Options options(re2::RE2::Latin1);
  options.set_log_errors(false);
  options.set_never_capture(true);
  auto re = std::make_unique<const re2::RE2>(prefix.pattern, options);
  return re->ok() ? std::move(re) : nullptr;
}

}  // namespace

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

WindowedMatcher::WindowedMatcher(const re2::RE2& re, const Analysis& analysis)
    : re_(re), has_cut_(analysis.cut.has_value()), run_(analysis.run) {
  if (has_cut_) {
    before_ = analysis.cut->before;
    after_ = analysis.cut->after;
    if (analysis.cut->confirm) {
      confirm_ = Helper(*analysis.cut->confirm);
      confirm_bytes_ = analysis.cut->confirm->max_bytes;
    }
  } else if (run_) {
    before_ = run_->before;
    after_ = run_->after;
  }
  if (after_ == kUnbounded && before_ != kUnbounded && analysis.prefix) {
    prefix_ = Helper(*analysis.prefix);
    prefix_bytes_ = analysis.prefix->max_bytes;
  }
}

std::vector<Sighting> WindowedMatcher::Confirmed(std::string_view blob,
                                                 std::span<const uint64_t> positions) const {
  const re2::StringPiece text(blob.data(), blob.size());
  std::vector<Sighting> sightings;
  for (const uint64_t at : positions) {
    if (at > blob.size() || (!sightings.empty() && sightings.back().last == at)) continue;
    const uint64_t end = std::min<uint64_t>(blob.size(), at + confirm_bytes_);
    if (confirm_ && !confirm_->Match(text, at, end, re2::RE2::ANCHOR_START, nullptr, 0)) continue;
    sightings.push_back({at, at});
  }
  return sightings;
}

WindowedMatcher::Plan WindowedMatcher::PlanFor(std::span<const Sighting> sightings,
                                               uint64_t size) const {
  const bool open = prefix_ != nullptr;
  return {WindowsOf(sightings, before_, open ? prefix_bytes_ : after_, size), open};
}

bool WindowedMatcher::Next(std::string_view blob, const Window& window, bool open, uint64_t* at,
                           Groups* groups) const {
  const re2::StringPiece text(blob.data(), blob.size());
  if (open) {
    re2::StringPiece prefix;
    if (!prefix_->Match(text, *at, window.end, re2::RE2::UNANCHORED, &prefix, 1)) return false;
    const uint64_t start = static_cast<uint64_t>(prefix.data() - text.data());
    if (start > window.last_start) return false;
    *at = start;  // nothing begins earlier
  }
  if (!re_.Match(text, *at, open ? blob.size() : window.end, re2::RE2::UNANCHORED,
                 groups->pieces.data(), static_cast<int>(groups->pieces.size()))) {
    if (open) *at = blob.size() + 1;
    return false;
  }
  for (size_t i = 0; i < groups->views.size(); ++i) {
    groups->views[i] = std::string_view(groups->pieces[i].data(), groups->pieces[i].size());
  }
  return true;
}

}  // namespace keysieve::detect::regex
