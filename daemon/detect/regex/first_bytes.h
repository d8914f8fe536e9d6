// SPDX-License-Identifier: MIT
// The bytes a match can begin with.
#pragma once

#include <optional>

#include "daemon/detect/regex/ast.h"

namespace keysieve::detect::regex {

// Every match of the whole regex begins with one of these. None if a match may be empty. Pure.
std::optional<ByteSet> FirstBytes(const Ast& ast);

}  // namespace keysieve::detect::regex
