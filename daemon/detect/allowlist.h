// SPDX-License-Identifier: MIT
// A compiled allowlist: what a rule, or the whole set, agrees to ignore. Paths and commits settle a
// blob before its bytes are looked at; regexes and stopwords settle one finding.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "absl/status/statusor.h"
#include "daemon/detect/regex.h"
#include "daemon/detect/rule_file.h"

namespace keysieve::detect {

// Words found anywhere in a text, ASCII letters in either case. Immutable; thread-safe.
class WordSet {
 public:
  WordSet() = default;
  explicit WordSet(const std::vector<Text>& words);
  bool empty() const { return by_prefix_.empty() && single_.empty(); }
  bool FoundIn(std::string_view text) const;

 private:
  // Words of two bytes and more by their first two, so that a thousand words cost one look-up a
  // byte of the text.
  std::unordered_map<uint16_t, std::vector<std::string>> by_prefix_;
  std::string single_;  // words of one byte
};

// Which text an allowlist's regexes look at.
enum class RegexTarget : uint8_t { kSecret, kMatch, kLine };

// Immutable; thread-safe.
class Allowlist {
 public:
  // Of a checked spec.
  static absl::StatusOr<Allowlist> Compile(const AllowlistSpec& spec, const std::string& subject);

  RegexTarget target() const { return target_; }
  bool has_regexes() const { return !regexes_.empty(); }
  int64_t instructions() const { return paths_.instructions() + regexes_.instructions(); }

  // Is the whole blob allowed, whatever it holds?
  bool AllowsBlob(std::string_view path, std::string_view commit) const;

  // Is it allowed by its path alone?
  bool AllowsPath(std::string_view path) const { return AllowsBlob(path, {}); }

  // Does a regex match the text that target() names?
  bool RegexMatches(std::string_view text) const { return regexes_.AnyMatches(text); }

  // Is a finding allowed? `regex_matches` is RegexMatches() of its target.
  bool AllowsFinding(bool regex_matches, std::string_view secret, std::string_view path,
                     std::string_view commit) const;

 private:
  bool CommitListed(std::string_view commit) const;
  bool PathListed(std::string_view path) const;

  bool all_ = false;  // AND: every kind of check that is given must hold
  RegexTarget target_ = RegexTarget::kSecret;
  std::vector<std::string> commits_;  // lower case, sorted
  RegexList paths_;
  RegexList regexes_;
  WordSet stopwords_;
};

}  // namespace keysieve::detect
