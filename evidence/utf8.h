// SPDX-License-Identifier: MIT
// UTF-8 as the exposition format demands it. Touches nothing but the bytes it is given.
//
//   ValidUtf8("caf\xe9");  // "caf" and U+FFFD
#pragma once

#include <string>
#include <string_view>

namespace keysieve::evidence {

// `bytes` with U+FFFD in place of each byte that belongs to no well-formed sequence (RFC 3629:
// no overlong forms, no surrogates, nothing past U+10FFFF).
std::string ValidUtf8(std::string_view bytes);

}  // namespace keysieve::evidence
