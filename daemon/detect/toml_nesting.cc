// SPDX-License-Identifier: MIT
// Steps over strings and comments and counts the dots between what may end a key. It need not know
// good TOML from bad; the parser does.
#include "daemon/detect/toml_nesting.h"

#include <algorithm>

namespace keysieve::detect {
namespace {

// The end of the string that opens at `at`, as far as the text goes.
size_t SkipString(std::string_view toml, size_t at) {
  const char quote = toml[at];
  const bool escapes = quote == '"';
  const std::string_view triple = escapes ? R"(""")" : "'''";
  const bool multiline = toml.substr(at, 3) == triple;
  const std::string_view close = multiline ? triple : triple.substr(0, 1);
  for (at += close.size(); at < toml.size(); ++at) {
    if (toml[at] == '\n' && !multiline) return at;
    if (toml.substr(at, close.size()) == close) return at + close.size();
    if (toml[at] == '\\' && escapes) ++at;
  }
  return toml.size();
}

}  // namespace

uint32_t LineOfTooDottedKey(std::string_view toml) {
  size_t dots = 0;
  for (size_t at = 0; at < toml.size();) {
    const char c = toml[at];
    if (c == '"' || c == '\'') {
      at = SkipString(toml, at);
      continue;
    }
    if (c == '#') {
      at = std::min(toml.find('\n', at), toml.size());
      continue;
    }
    if (c == '.' && ++dots > kMaxKeyDots) {
      const auto before = toml.substr(0, at);
      return static_cast<uint32_t>(std::count(before.begin(), before.end(), '\n') + 1);
    }
    if (c == '\n' || c == '=' || c == ',' || c == '[' || c == '{') dots = 0;
    ++at;
  }
  return 0;
}

}  // namespace keysieve::detect
