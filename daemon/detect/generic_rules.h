// SPDX-License-Identifier: MIT
// A generic rule gives way: where another rule found a secret that contains the generic one's, on
// the same line, the generic finding is dropped.
#pragma once

#include <span>
#include <vector>

#include "daemon/detect/compiled_rules.h"
#include "daemon/detect/finding.h"

namespace keysieve::detect {

// Keeps the order of the rest. Time grows with the findings' bytes, not with their pairs: one line
// may hold thousands of each.
void DropShadowedGenerics(std::span<const CompiledRule> rules, std::vector<Finding>* findings);

}  // namespace keysieve::detect
