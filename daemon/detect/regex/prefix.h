// SPDX-License-Identifier: MIT
// A regex cut short: bounded in width, and matching at the start of whatever the whole one matches.
// RE2 tells with it, in a few bytes, that no match can begin here.
//
//   BoundedPrefix(ast, ast.root, 256)->pattern  // of "a+b": "(?:a{34}?|a{1,33}?b)", in other words
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "daemon/detect/regex/ast.h"

namespace keysieve::detect::regex {

struct Prefix {
  std::string pattern;     // RE2 syntax for Latin-1, without captures
  uint64_t max_bytes = 0;  // no match of it is longer
};

// Of node `root`. If that node matches [s, e) of a text, by whatever path, the prefix matches [s,
// f) of the same text with f <= e and f - s <= max_bytes <= `limit`. None if the prefix could be
// empty, or is too long to write down. `ast` may hold sequences inside sequences. Pure.
std::optional<Prefix> BoundedPrefix(Ast ast, uint32_t root, uint64_t limit);

}  // namespace keysieve::detect::regex
