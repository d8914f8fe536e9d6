// SPDX-License-Identifier: MIT
// The comments with which a line allows the findings on it. Both names count, ours and gitleaks',
// anywhere on the line, as written.
//
//   finding.suppressed_by = AllowMarkOn(line);  // "keysieve:allow", or empty
#pragma once

#include <string_view>

namespace keysieve::detect::suppress {

// The first mark in the text; empty if there is none. The view is of a constant.
std::string_view AllowMarkOn(std::string_view lines);

}  // namespace keysieve::detect::suppress
