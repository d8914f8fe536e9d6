// SPDX-License-Identifier: MIT
// The longest run of one class that a regex requires; see RunProbe in cuts.h.
#pragma once

#include <optional>
#include <vector>

#include "daemon/detect/regex/cuts.h"

namespace keysieve::detect::regex {

// `widths` are ComputeWidths(ast). None if no run of two bytes is required.
std::optional<RunProbe> FindRunProbe(const Ast& ast, const std::vector<Widths>& widths);

}  // namespace keysieve::detect::regex
