// SPDX-License-Identifier: MIT
// The pattern language of .gitignore files, as gitignore(5) describes it, over bytes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace keysieve::client {

// Matches one path segment (no slash in it) against *, ?, [classes] and backslash escapes. A
// pattern that is broken, an open class or a backslash at its end, matches nothing, as in git.
bool MatchSegment(std::string_view pattern, std::string_view name);

enum class IgnoreVerdict { kNone, kIgnored, kIncluded };

// The rules of one .gitignore file. Immutable once parsed.
class IgnoreRules {
 public:
  static IgnoreRules Parse(std::string_view text);

  // What the file's last matching rule says of `path`, relative to the file's folder, without a
  // leading slash. Parents are the caller's to check first: below an ignored folder nothing can be
  // included again.
  IgnoreVerdict Check(std::string_view path, bool is_directory) const;

  bool empty() const { return rules_.empty(); }

 private:
  struct Rule {
    bool negated = false;
    bool directories_only = false;
    bool anchored = false;  // matches the whole path, not its last segment
    std::vector<std::string> segments;
  };
  static bool ParseLine(std::string_view line, Rule* rule);

  std::vector<Rule> rules_;
};

}  // namespace keysieve::client
