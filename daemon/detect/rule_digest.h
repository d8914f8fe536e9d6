// SPDX-License-Identifier: MIT
// Names what a rule set means: the same rules give the same digest however the file is laid out,
// commented or split by `extend`, and another regex, keyword or limit gives another.
#pragma once

#include <string>

#include "daemon/detect/rule_file.h"

namespace keysieve::detect {

// SHA-256 in hex of a checked, merged set.
std::string DigestOf(const RuleFile& set);

}  // namespace keysieve::detect
