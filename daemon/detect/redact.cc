// SPDX-License-Identifier: MIT
// Hides byte ranges: each byte of a match is either kept or hidden, and a run of hidden bytes,
// however many secrets it holds, becomes one marker, so that not even a secret's length is told.
#include "daemon/detect/redact.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace keysieve::detect {
namespace {

using Range = std::pair<uint64_t, uint64_t>;  // half open

void AddOccurrences(std::string_view match, std::string_view secret, std::vector<Range>* hidden) {
  for (size_t at = match.find(secret); at != std::string_view::npos;
       at = match.find(secret, at + 1)) {
    hidden->push_back({at, at + secret.size()});
  }
}

std::string Hide(std::string_view match, std::vector<Range> hidden) {
  std::sort(hidden.begin(), hidden.end());
  std::string out;
  uint64_t kept_to = 0;
  for (size_t i = 0; i < hidden.size();) {
    const uint64_t start = hidden[i].first;
    uint64_t end = hidden[i].second;
    while (++i < hidden.size() && hidden[i].first <= end) end = std::max(end, hidden[i].second);
    out.append(match, kept_to, start - kept_to);
    out.append(kRedacted);
    kept_to = end;
  }
  out.append(match, kept_to, match.size() - kept_to);
  return out;
}

// The secrets of one blob in order, to find those that reach into a range.
class Secrets {
 public:
  explicit Secrets(std::span<const Finding> findings) {
    for (const Finding& finding : findings) {
      if (finding.secret_end > finding.secret_start) {
        ranges_.push_back({finding.secret_start, finding.secret_end});
      }
    }
    std::sort(ranges_.begin(), ranges_.end());
    // Joined, so that starts and ends both ascend.
    size_t out = 0;
    for (const Range& range : ranges_) {
      if (out > 0 && range.first <= ranges_[out - 1].second) {
        ranges_[out - 1].second = std::max(ranges_[out - 1].second, range.second);
      } else {
        ranges_[out++] = range;
      }
    }
    ranges_.resize(out);
  }

  void AddInside(uint64_t start, uint64_t end, std::vector<Range>* hidden) const {
    auto it = std::upper_bound(ranges_.begin(), ranges_.end(), start,
                               [](uint64_t at, const Range& range) { return at < range.second; });
    for (; it != ranges_.end() && it->first < end; ++it) {
      hidden->push_back({std::max(it->first, start) - start, std::min(it->second, end) - start});
    }
  }

 private:
  std::vector<Range> ranges_;
};

void RedactOne(const Secrets& secrets, Finding* finding) {
  std::vector<Range> hidden;
  AddOccurrences(finding->match, finding->secret, &hidden);
  if (hidden.empty()) {
    finding->match = kRedacted;
    return;
  }
  // A decoded match does not stand in the blob byte for byte: its neighbours cannot be told apart.
  const bool in_blob = finding->decode_path.empty() &&
                       finding->match_end - finding->match_start == finding->match.size();
  if (in_blob) {
    secrets.AddInside(finding->match_start, finding->match_end, &hidden);
    finding->match = Hide(finding->match, std::move(hidden));
  } else {
    finding->match = kRedacted;
  }
}

}  // namespace

std::string RedactMatch(std::string_view match, std::string_view secret) {
  std::vector<Range> hidden;
  if (!secret.empty()) AddOccurrences(match, secret, &hidden);
  return hidden.empty() ? std::string(kRedacted) : Hide(match, std::move(hidden));
}

void RedactFindings(std::span<Finding> findings) {
  const Secrets secrets(findings);
  for (Finding& finding : findings) {
    if (finding.secret.empty()) continue;
    RedactOne(secrets, &finding);
    finding.secret = kRedacted;
  }
}

}  // namespace keysieve::detect
