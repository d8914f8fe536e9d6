// SPDX-License-Identifier: MIT
// Matching remembers one star and goes back to no earlier one, which is exact for this language: a
// hostile .gitignore costs length times length and no more.
#include "daemon/client/glob.h"

#include <cctype>
#include <cstddef>
#include <optional>

namespace keysieve::client {
namespace {

bool InPosixClass(std::string_view name, unsigned char c) {
  if (name == "alnum") return std::isalnum(c);
  if (name == "alpha") return std::isalpha(c);
  if (name == "blank") return c == ' ' || c == '\t';
  if (name == "cntrl") return std::iscntrl(c);
  if (name == "digit") return std::isdigit(c);
  if (name == "graph") return std::isgraph(c);
  if (name == "lower") return std::islower(c);
  if (name == "print") return std::isprint(c);
  if (name == "punct") return std::ispunct(c);
  if (name == "space") return std::isspace(c);
  if (name == "upper") return std::isupper(c);
  if (name == "xdigit") return std::isxdigit(c);
  return false;
}

struct ClassMatch {
  bool matched = false;
  size_t length = 0;  // of the class in the pattern
};

// `pattern` begins with '['. Nothing: the class never ends.
std::optional<ClassMatch> MatchClass(std::string_view pattern, unsigned char c) {
  size_t i = 1;
  const bool inverted = i < pattern.size() && (pattern[i] == '!' || pattern[i] == '^');
  if (inverted) ++i;
  bool matched = false;
  bool first = true;
  while (i < pattern.size() && (first || pattern[i] != ']')) {
    first = false;
    if (pattern[i] == '[' && i + 1 < pattern.size() && pattern[i + 1] == ':') {
      const size_t end = pattern.find(']', i + 2);
      if (end == std::string_view::npos) return std::nullopt;
      if (pattern[end - 1] == ':' && end - 1 >= i + 2) {
        matched |= InPosixClass(pattern.substr(i + 2, end - i - 3), c);
        i = end + 1;
        continue;
      }
    }
    if (pattern[i] == '\\' && ++i >= pattern.size()) return std::nullopt;
    const auto low = static_cast<unsigned char>(pattern[i++]);
    auto high = low;
    if (i + 1 < pattern.size() && pattern[i] == '-' && pattern[i + 1] != ']') {
      ++i;
      if (pattern[i] == '\\' && ++i >= pattern.size()) return std::nullopt;
      high = static_cast<unsigned char>(pattern[i++]);
    }
    matched |= low <= c && c <= high;
  }
  if (i >= pattern.size()) return std::nullopt;
  return ClassMatch{matched != inverted, i + 1};
}

// Length of the pattern's first element if it matches `c`: 0 if it does not.
size_t MatchOne(std::string_view pattern, unsigned char c) {
  switch (pattern[0]) {
    case '?':
      return 1;
    case '[': {
      const auto in_class = MatchClass(pattern, c);
      return in_class && in_class->matched ? in_class->length : 0;
    }
    case '\\':
      return pattern.size() > 1 && static_cast<unsigned char>(pattern[1]) == c ? 2 : 0;
    default:
      return static_cast<unsigned char>(pattern[0]) == c ? 1 : 0;
  }
}

// "**" stands for any number of segments, one at least where it comes last: "a/**" is what lies
// below a, not a itself.
bool MatchSegments(const std::vector<std::string>& pattern,
                   const std::vector<std::string_view>& path) {
  size_t p = 0;
  size_t s = 0;
  std::optional<size_t> star;
  size_t resume = 0;
  while (s < path.size()) {
    if (p < pattern.size() && pattern[p] == "**") {
      star = ++p;
      resume = s;
    } else if (p < pattern.size() && MatchSegment(pattern[p], path[s])) {
      ++p;
      ++s;
    } else if (star) {
      p = *star;
      s = ++resume;
    } else {
      return false;
    }
  }
  return p == pattern.size();
}

std::vector<std::string_view> SplitPath(std::string_view path) {
  std::vector<std::string_view> segments;
  while (true) {
    const size_t slash = path.find('/');
    segments.push_back(path.substr(0, slash));
    if (slash == std::string_view::npos) return segments;
    path.remove_prefix(slash + 1);
  }
}

// Spaces at a line's end do not count unless a backslash keeps them.
std::string_view TrimEnd(std::string_view line) {
  size_t end = 0;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\\' && i + 1 < line.size()) {
      end = ++i + 1;
    } else if (line[i] != ' ') {
      end = i + 1;
    }
  }
  return line.substr(0, end);
}

}  // namespace

bool MatchSegment(std::string_view pattern, std::string_view name) {
  size_t p = 0;
  size_t n = 0;
  std::optional<size_t> star;
  size_t resume = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = ++p;
      resume = n;
      continue;
    }
    const size_t length =
        p < pattern.size() ? MatchOne(pattern.substr(p), static_cast<unsigned char>(name[n])) : 0;
    if (length > 0) {
      p += length;
      ++n;
    } else if (star) {
      p = *star;
      n = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

bool IgnoreRules::ParseLine(std::string_view line, Rule* rule) {
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  if (line.empty() || line[0] == '#') return false;
  line = TrimEnd(line);
  if (!line.empty() && line[0] == '!') {
    rule->negated = true;
    line.remove_prefix(1);
  }
  if (!line.empty() && line.back() == '/') {
    rule->directories_only = true;
    line.remove_suffix(1);
  }
  rule->anchored = line.find('/') != std::string_view::npos;
  if (!line.empty() && line[0] == '/') line.remove_prefix(1);
  if (line.empty()) return false;
  for (const std::string_view segment : SplitPath(line)) rule->segments.emplace_back(segment);
  return true;
}

IgnoreRules IgnoreRules::Parse(std::string_view text) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.substr(0, kByteOrderMark.size()) == kByteOrderMark) {
    text.remove_prefix(kByteOrderMark.size());
  }
  IgnoreRules parsed;
  while (!text.empty()) {
    const size_t newline = text.find('\n');
    Rule rule;
    if (ParseLine(text.substr(0, newline), &rule)) parsed.rules_.push_back(std::move(rule));
    text = newline == std::string_view::npos ? "" : text.substr(newline + 1);
  }
  return parsed;
}

IgnoreVerdict IgnoreRules::Check(std::string_view path, bool is_directory) const {
  const std::vector<std::string_view> segments = SplitPath(path);
  for (auto rule = rules_.rbegin(); rule != rules_.rend(); ++rule) {
    if (rule->directories_only && !is_directory) continue;
    const bool matched = rule->anchored ? MatchSegments(rule->segments, segments)
                                        : MatchSegment(rule->segments[0], segments.back());
    if (matched) return rule->negated ? IgnoreVerdict::kIncluded : IgnoreVerdict::kIgnored;
  }
  return IgnoreVerdict::kNone;
}

}  // namespace keysieve::client
