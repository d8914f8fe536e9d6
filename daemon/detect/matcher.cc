// SPDX-License-Identifier: MIT
// The plain matcher, and the one with windows, which is held to it. RE2 searches a range of the
// blob but looks at the bytes round it, so that \b, ^ and $ mean in a window what they mean in the
// blob.
#include "daemon/detect/matcher.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

namespace keysieve::detect {
namespace {

// The leftmost match that begins at `from` or later and ends at `to` or earlier.
bool Search(const Regex& regex, std::string_view text, uint64_t from, uint64_t to,
            ByteRange* found) {
  re2::StringPiece match;
  if (!regex.re2().Match({text.data(), text.size()}, from, to, re2::RE2::UNANCHORED, &match, 1)) {
    return false;
  }
  found->start = match.data() - text.data();
  found->end = found->start + match.size();
  return true;
}

class WholeBlob : public RuleMatcher {
 public:
  explicit WholeBlob(const Regex* regex) : regex_(regex) {}

  void FindAll(std::string_view text, const HitIndex& /*hits*/,
               std::vector<ByteRange>* matches) const override {
    ByteRange match;
    for (uint64_t at = 0; at <= text.size() && Search(*regex_, text, at, text.size(), &match);) {
      const bool empty = match.start == match.end;
      if (!empty) matches->push_back(match);
      at = empty ? match.end + 1 : match.end;
    }
  }

 private:
  const Regex* regex_;
};

// A match that begins at s holds a required literal that begins in [s, s + before]. So wherever no
// literal begins in that reach, no match begins, and a search may start at the next literal less
// `before`. Where matches are at most `longest` bytes, one that begins at s cannot see beyond
// s + longest, so a search for matches that begin up to s may end there.
class Windows : public RuleMatcher {
 public:
  Windows(const Regex* regex, uint64_t before, std::optional<uint64_t> longest,
          std::vector<uint32_t> literals)
      : regex_(regex), before_(before), longest_(longest), literals_(std::move(literals)) {}

  void FindAll(std::string_view text, const HitIndex& hits,
               std::vector<ByteRange>* matches) const override {
    std::vector<uint64_t> merged;
    const std::span<const uint64_t> starts = Starts(hits, &merged);
    if (starts.empty()) return;
    if (longest_) {
      Bounded(text, starts, matches);
    } else {
      Unbounded(text, starts, matches);
    }
  }

 private:
  // All its literals' places, ascending; in `merged` if there are several lists of them.
  std::span<const uint64_t> Starts(const HitIndex& hits, std::vector<uint64_t>* merged) const {
    std::span<const uint64_t> first;
    for (uint32_t literal : literals_) {
      const std::span<const uint64_t> starts = hits.StartsOf(literal);
      if (starts.empty()) continue;
      if (first.empty()) {
        first = starts;
        continue;
      }
      if (merged->empty()) merged->assign(first.begin(), first.end());
      merged->insert(merged->end(), starts.begin(), starts.end());
    }
    if (merged->empty()) return first;
    std::sort(merged->begin(), merged->end());
    return *merged;
  }

  uint64_t Earliest(uint64_t literal) const { return literal - std::min(literal, before_); }

  void Bounded(std::string_view text, std::span<const uint64_t> starts,
               std::vector<ByteRange>* matches) const {
    uint64_t at = 0;
    for (size_t i = 0; i < starts.size();) {
      // Windows that touch are searched as one, so that no byte is searched twice in vain.
      size_t last = i;
      while (last + 1 < starts.size() && Earliest(starts[last + 1]) <= starts[last] + *longest_) {
        ++last;
      }
      const uint64_t begin_limit = starts[last];
      const uint64_t end = std::min<uint64_t>(text.size(), begin_limit + *longest_);
      ByteRange match;
      for (;;) {
        while (i <= last && starts[i] < at) ++i;  // a match from here on holds a later one
        if (i > last) break;
        at = std::max(at, Earliest(starts[i]));
        if (!Search(*regex_, text, at, end, &match) || match.start > begin_limit) break;
        matches->push_back(match);
        at = match.end;
      }
      i = last + 1;
    }
  }

  void Unbounded(std::string_view text, std::span<const uint64_t> starts,
                 std::vector<ByteRange>* matches) const {
    uint64_t at = 0;
    ByteRange match;
    for (size_t i = 0;;) {
      while (i < starts.size() && starts[i] < at) ++i;
      if (i == starts.size()) return;
      at = std::max(at, Earliest(starts[i]));
      if (!Search(*regex_, text, at, text.size(), &match)) return;
      matches->push_back(match);
      at = match.end;
    }
  }

  const Regex* regex_;
  uint64_t before_;
  std::optional<uint64_t> longest_;
  std::vector<uint32_t> literals_;
};

}  // namespace

std::unique_ptr<RuleMatcher> WholeBlobMatcher(const Regex* regex) {
  return std::make_unique<WholeBlob>(regex);
}

std::unique_ptr<RuleMatcher> WindowMatcher(const Regex* regex, const RequiredLiterals& required,
                                           std::vector<uint32_t> literals) {
  return std::make_unique<Windows>(regex, required.before, required.longest, std::move(literals));
}

}  // namespace keysieve::detect
