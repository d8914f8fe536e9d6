// SPDX-License-Identifier: MIT
// Reads RE2's syntax over bytes into a tree. Means the same language as RE2 compiling the pattern
// with EncodingLatin1, case folding included. It is stricter than RE2, never laxer in meaning: a
// pattern refused here may be fine, and its rule then runs over whole blobs.
//
//   auto ast = ParseRegex(R"((?i)token[-_]?key\s*=)");
//   if (!ast.ok()) ...  // "regex: byte 7: lookaround is not RE2 syntax"
#pragma once

#include <cstddef>
#include <string_view>

#include "absl/status/statusor.h"
#include "daemon/detect/regex/ast.h"

namespace keysieve::detect::regex {

inline constexpr size_t kMaxPatternBytes = 64 << 10;
inline constexpr size_t kMaxNodes = 32 << 10;
inline constexpr size_t kMaxGroupDepth = 250;
inline constexpr int kMaxRepeat = 1000;  // RE2's own limit of one count

// Pure and thread-safe; linear in the pattern. INVALID_ARGUMENT names the byte position in the
// pattern and what stands there, or the limit that was passed; `\p` and bytes above 0xFF say that
// they need UTF-8.
absl::StatusOr<Ast> ParseRegex(std::string_view pattern);

}  // namespace keysieve::detect::regex
