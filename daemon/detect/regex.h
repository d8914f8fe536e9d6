// SPDX-License-Identifier: MIT
// One compiled regular expression: RE2, which never backtracks, over bytes. The syntax is Go's,
// which gitleaks' rules are written in; where RE2's C++ edition differs it is translated.
//
//   auto regex = Regex::Compile("ghp_[0-9a-zA-Z]{36}");
//   if (regex->Matches(secret)) ...
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "daemon/detect/rule_file.h"
#include "re2/re2.h"

namespace keysieve::detect {

inline constexpr size_t kMaxRegexBytes = 64u << 10;
inline constexpr int kMaxRegexNesting = 250;               // groups within groups
inline constexpr int64_t kMaxRegexMemory = 16 << 20;       // program and automata of one regex
inline constexpr int64_t kMaxSetInstructions = 2'000'000;  // of all programs of a rule set

// Immutable; every method is thread-safe.
class Regex {
 public:
  // INVALID_ARGUMENT with what is wrong, without a place: too long, too deeply nested, no regex, or
  // too large once compiled.
  static absl::StatusOr<Regex> Compile(const std::string& pattern);

  // A regex that names characters outside ASCII compiles in UTF-8: it then sees code points, and
  // stray bytes match nothing. All others see bytes.
  bool utf8() const { return utf8_; }
  int groups() const { return re_->NumberOfCapturingGroups(); }
  const std::string& pattern() const { return re_->pattern(); }
  int64_t instructions() const { return re_->ProgramSize(); }  // what compiling it costs
  const re2::RE2& re2() const { return *re_; }

  // Does it match anywhere in `text`?
  bool Matches(std::string_view text) const;

 private:
  std::unique_ptr<re2::RE2> re_;
  bool utf8_ = false;
};

// Any of several regexes, each by itself: an inline flag such as (?i) ends with its own regex.
class RegexList {
 public:
  // The error names the regex's own line.
  static absl::StatusOr<RegexList> Compile(const std::vector<Text>& patterns,
                                           const std::string& subject, const std::string& field);

  bool empty() const { return all_.empty(); }
  int64_t instructions() const;
  bool AnyMatches(std::string_view text) const;

 private:
  std::vector<Regex> all_;  // one alternation where that compiles, else one by one
};

}  // namespace keysieve::detect
