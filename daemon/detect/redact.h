// SPDX-License-Identifier: MIT
// Takes the secrets out of findings before they leave the daemon. What remains is where they stand,
// what found them, and the match with each secret's bytes replaced.
//
//   RedactFindings(findings);  // match: "token = REDACTED", secret: "REDACTED"
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "daemon/detect/finding.h"

namespace keysieve::detect {

inline constexpr std::string_view kRedacted = "REDACTED";

// `match` with every occurrence of `secret` replaced, overlapping ones as one. Where the secret is
// not inside the match, or is empty, there is no telling what to hide and all of it is replaced.
std::string RedactMatch(std::string_view match, std::string_view secret);

// Redacts the findings of one blob. A match loses the bytes of every secret that reaches into it,
// its own and its neighbours'. Matches without a secret (a rule that judged the path alone) stay.
void RedactFindings(std::span<Finding> findings);

}  // namespace keysieve::detect
