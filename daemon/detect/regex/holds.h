// SPDX-License-Identifier: MIT
// Whether a regex's matches bring a word along by themselves. A rule that waits for such a word
// anywhere in a blob waits for nothing: where it matches, the word is.
//
//   EveryMatchHolds(*ParseRegex("xoxb-[0-9]{10}"), {"xoxb"})  // true
#pragma once

#include <span>
#include <string>

#include "daemon/detect/regex/ast.h"

namespace keysieve::detect::regex {

// Whether each match of the whole regex holds one of `words` (lower case), ASCII letters in either
// case. False where it cannot tell. Pure; work and memory are bounded as in Analyze().
bool EveryMatchHolds(const Ast& ast, std::span<const std::string> words);

}  // namespace keysieve::detect::regex
