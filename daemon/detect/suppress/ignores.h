// SPDX-License-Identifier: MIT
// What a caller wants not to hear of again: ignore files and baselines, read once a scan and then
// asked about every finding. Findings are marked, never dropped.
//
//   auto ignores = Ignores::Read(sources, rules->fingerprinter(), &warnings);
//   (*ignores)->Mark(blob, *rules, findings);
//
// A fingerprint names rule and secret, so the same secret in another place is still known and
// another secret in the same place is new. A line of .gitleaksignore names a place; it holds for
// whatever stands there.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "absl/status/statusor.h"
#include "daemon/detect/finding.h"
#include "daemon/detect/fingerprint.h"
#include "daemon/detect/rule_set.h"

namespace keysieve::detect::suppress {

inline constexpr uint64_t kMaxIgnoreBytes = 16u << 20;  // of all sources together
inline constexpr size_t kMaxIgnoreSources = 64;

enum class Format : uint8_t {
  kGitleaksIgnore,    // a line a finding: [commit:]path:rule:line, or one of our fingerprints
  kGitleaksBaseline,  // a JSON report of gitleaks, or ours in that form
  kKeysieveBaseline,  // JSON lines: a report of ours, or what `--write-baseline` wrote
};

struct Source {
  std::string name;  // for messages and for `suppressed_by`
  Format format = Format::kGitleaksIgnore;
  std::string content;
};

// Immutable; thread-safe.
class Ignores {
 public:
  // `names` makes the fingerprints that entries with a secret are compared by. What an entry cannot
  // be used for is said in `warnings`, naming source and line or entry. INVALID_ARGUMENT for a
  // baseline that is no JSON of its form and for sources too large or too many.
  static absl::StatusOr<std::shared_ptr<const Ignores>> Read(std::span<const Source> sources,
                                                             const Fingerprinter& names,
                                                             std::vector<std::string>* warnings);

  // Sets `suppressed_by` of those known: the source's name, with a line where it has lines. Those
  // that are suppressed already stay as they are. Secrets must be in the clear still.
  void Mark(std::string_view path, std::string_view commit, const RuleSet& rules,
            std::span<Finding> findings) const;

  size_t entries() const { return by_fingerprint_.size() + by_line_.size() + redacted_entries_; }

 private:
  friend class Reader;

  // A baseline's entry whose secret was redacted: known by its place and by how random it was.
  struct Redacted {
    uint32_t start_column = 0;
    uint32_t end_line = 0;
    double entropy = 0;
    std::string by;
  };

  std::string KnownAs(std::string_view path, std::string_view commit, const std::string& rule,
                      std::span<const std::string> fingerprints, const Finding& finding) const;

  std::unordered_map<std::string, std::string> by_fingerprint_;      // -> suppressed_by
  std::unordered_map<std::string, std::string> by_line_;             // [commit:]path:rule:line
  std::unordered_map<std::string, std::vector<Redacted>> by_place_;  // path:rule:line
  size_t redacted_entries_ = 0;
};

}  // namespace keysieve::detect::suppress
