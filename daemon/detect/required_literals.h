// SPDX-License-Identifier: MIT
// Which byte strings a regex cannot match without, and where in a match they stand. From these a
// literal hit says where a match may begin and how far it may reach.
//
//   auto required = FindRequired(*ParseSyntax("key[=:](?:abc|xyz)\\d{4}"), {});
//   required->literals;  // {"abc", "xyz"} or {"key=", "key:"}: whichever is rarer
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "daemon/detect/regex_syntax.h"

namespace keysieve::detect {

inline constexpr size_t kMinRequiredBytes = 3;      // shorter literals are everywhere
inline constexpr size_t kMaxRequiredLiterals = 40;  // of one regex
inline constexpr uint64_t kMaxReach = 1u << 16;     // beyond it, a match counts as unbounded

struct RequiredLiterals {
  // Every match holds one of these, ASCII letters in either case. Lower case, sorted, each once.
  std::vector<std::string> literals;
  // One of those begins at most so many bytes after the match does.
  uint64_t before = 0;
  // No match is longer; absent if there is no such limit worth having.
  std::optional<uint64_t> longest;
};

// Absent if there is no set of literals worth looking for, or none that stands near enough to where
// a match begins. `sought` are literals in lower case that are looked for anyway: of these, two
// bytes will do.
std::optional<RequiredLiterals> FindRequired(const SyntaxNode& tree,
                                             const std::vector<std::string>& sought);

}  // namespace keysieve::detect
