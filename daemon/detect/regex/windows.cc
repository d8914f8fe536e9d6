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

constexpr uint64_t kFewStarts = 64;    // places a match may begin at, tried one by one
constexpr uint32_t kTriesInVain = 64;  // of those in one blob; then no more, to stay linear

// Null if RE2 refuses it, which a nested count above its limit can do; then nothing is ruled out.
std::unique_ptr<const re2::RE2> Helper(const Prefix& prefix) {
  re2::RE2::Options options(re2::RE2::Latin1);
  options.set_log_errors(false);
  options.set_never_capture(true);
  auto re = std::make_unique<const re2::RE2>(prefix.pattern, options);
  return re->ok() ? std::move(re) : nullptr;
}

}  // namespace

bool WindowMerger::Add(const Sighting& sighting, Window* done) {
  if (sighting.first > size_) return false;
  const Window next{sighting.first - std::min(before_, sighting.first),
                    std::min(AddWidth(sighting.last, after_), size_), sighting.last};
  if (any_ && next.begin <= window_.end) {
    window_.end = std::max(window_.end, next.end);
    window_.last_start = std::max(window_.last_start, next.last_start);
    return false;
  }
  const bool ended = std::exchange(any_, true);
  *done = std::exchange(window_, next);
  return ended;
}

bool WindowMerger::Finish(Window* done) const {
  *done = window_;
  return any_;
}

// Looks backward from where a run that began at `begin` would be long enough, so that most places
// are ruled out by the byte looked at first.
std::vector<Sighting> FindRuns(std::string_view blob, const RunProbe& probe) {
  std::vector<Sighting> runs;
  const size_t step = std::max<uint64_t>(1, probe.min_bytes);
  auto inside = [&](size_t i) { return probe.set[static_cast<uint8_t>(blob[i])]; };
  size_t begin = 0;  // of the run under way
  size_t known = 0;  // [begin, known) is inside
  for (size_t at = step - 1; at < blob.size(); at = begin + step - 1) {
    size_t outside = at + 1;
    while (outside > known && inside(outside - 1)) --outside;
    if (outside > known) {  // the byte before it is none of the class
      begin = outside;
      known = at + 1;
      continue;
    }
    size_t end = at + 1;
    while (end < blob.size() && inside(end)) ++end;
    runs.push_back({begin, end - step});
    begin = known = end + 1;
  }
  return runs;
}

WindowedMatcher::WindowedMatcher(const re2::RE2& re, const Analysis& analysis, int groups)
    : re_(re),
      groups_(groups == kAllGroups ? re.NumberOfCapturingGroups() : groups),
      has_cut_(analysis.cut.has_value()),
      run_(analysis.run),
      first_(analysis.first) {
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

bool WindowedMatcher::Confirms(std::string_view blob, uint64_t at) const {
  if (!confirm_) return true;
  const re2::StringPiece text(blob.data(), blob.size());
  const uint64_t end = std::min<uint64_t>(blob.size(), at + confirm_bytes_);
  return confirm_->Match(text, at, end, re2::RE2::ANCHOR_START, nullptr, 0);
}

bool WindowedMatcher::Run::MayTryFew(const Window& window, bool open) const {
  return matcher_.first_ && window.last_start - at_ < kFewStarts &&
         (!open || in_vain_ < kTriesInVain);
}

// Anchored, RE2 need not look for the start behind the end, and stays with a few states of its
// automaton where an open start with counted repeats makes ever new ones.
bool WindowedMatcher::Run::NextOfFew(const Window& window, bool open) {
  const uint64_t last = std::min<uint64_t>(window.last_start + 1, blob_.size());
  for (uint64_t start = at_; start < last; ++start) {
    if (!(*matcher_.first_)[static_cast<uint8_t>(blob_[start])]) continue;
    if (Match(start, window, open, re2::RE2::ANCHOR_START)) return true;
    if (open) ++in_vain_;
  }
  return false;
}

bool WindowedMatcher::Run::Match(uint64_t start, const Window& window, bool open,
                                 re2::RE2::Anchor anchor) {
  const re2::StringPiece text(blob_.data(), blob_.size());
  if (!matcher_.re_.Match(text, start, open ? blob_.size() : window.end, anchor, pieces_.data(),
                          static_cast<int>(pieces_.size()))) {
    return false;
  }
  for (size_t i = 0; i < groups_.size(); ++i) {
    groups_[i] = std::string_view(pieces_[i].data(), pieces_[i].size());
  }
  return true;
}

bool WindowedMatcher::Run::Next(const Window& window, bool open) {
  if (MayTryFew(window, open)) return NextOfFew(window, open);
  if (open) {
    const re2::StringPiece text(blob_.data(), blob_.size());
    re2::StringPiece prefix;
    if (!matcher_.prefix_->Match(text, at_, window.end, re2::RE2::UNANCHORED, &prefix, 1)) {
      return false;
    }
    const uint64_t start = static_cast<uint64_t>(prefix.data() - text.data());
    if (start > window.last_start) return false;
    at_ = start;  // nothing begins earlier
  }
  if (Match(at_, window, open, re2::RE2::UNANCHORED)) return true;
  if (open) at_ = blob_.size() + 1;
  return false;
}

}  // namespace keysieve::detect::regex
