// SPDX-License-Identifier: MIT
// The plainest matcher there is, as the oracle of trees: a node maps a set of positions where it
// may begin to the set of positions where it may end. It shares nothing with RE2 or the analyses.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

#include "daemon/detect/regex/ast.h"

namespace keysieve::detect::regex {

// The longest match that begins leftmost, as [start, end); none if nothing matches.
std::optional<std::pair<size_t, size_t>> LeftmostLongest(const Ast& ast, std::string_view text);

}  // namespace keysieve::detect::regex
