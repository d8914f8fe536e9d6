// SPDX-License-Identifier: MIT
// Bounds the dotted keys of a TOML text before it is parsed: every dot of `a.b.c` is a table within
// a table, the parser sets no limit to them, and taking half a million apart again overruns the
// stack.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace keysieve::detect {

inline constexpr size_t kMaxKeyDots = 8;  // a rule file needs two

// The line of the first key with more dots, from 1; 0 if there is none. What stands in strings and
// comments does not count.
uint32_t LineOfTooDottedKey(std::string_view toml);

}  // namespace keysieve::detect
