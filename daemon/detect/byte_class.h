// SPDX-License-Identifier: MIT
// The named sets of bytes that a regex may use.
#pragma once

#include <string_view>

#include "daemon/detect/regex_syntax.h"

namespace keysieve::detect {

// The bytes from `low` to `high`, both included.
ByteSet ByteRangeSet(unsigned char low, unsigned char high);

// Of 'd', 's' or 'w', as in \d; empty for other letters.
ByteSet PerlClass(char letter);

// Of "alpha" and its like, as in [[:alpha:]]; empty for other names.
ByteSet PosixClass(std::string_view name);

// With each ASCII letter its other case.
ByteSet FoldCase(ByteSet bytes);

}  // namespace keysieve::detect
