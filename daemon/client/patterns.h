// SPDX-License-Identifier: MIT
// Pattern files of the literal service: one literal a line.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "keysieve/v1/scan.pb.h"

namespace keysieve::client {

inline constexpr uint64_t kPatternFileLimit = 64 << 20;  // bytes; escapes take four for one

struct PatternSyntax {
  bool ignore_case = false;  // of lines without a tag
  bool escaped = false;      // \xNN and a doubled backslash
  bool tagged = false;       // "i<TAB>literal" or "s<TAB>literal"
};

// Lines end at \n; a \r before it belongs to the literal only if it is written \x0d. Empty lines
// are left out. INVALID_ARGUMENT names the line and what is wrong with it.
absl::StatusOr<std::vector<v1::Pattern>> ParsePatterns(std::string_view text,
                                                       const PatternSyntax& syntax);

}  // namespace keysieve::client
