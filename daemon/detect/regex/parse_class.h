// SPDX-License-Identifier: MIT
// The parser's byte-level half: escapes, Perl and POSIX classes, bracket expressions and case
// folding. Positions are byte offsets into the pattern, for messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "daemon/detect/regex/ast.h"

namespace keysieve::detect::regex {

// INVALID_ARGUMENT "regex: byte <position>: <what>".
absl::Status ParseError(size_t position, std::string_view what);

// `set` with both cases of every letter RE2 folds inside Latin-1: a-z, and 0xE0-0xFE less 0xF7.
ByteSet FoldCase(const ByteSet& set);

// `set` of one byte, folded if `fold`.
ByteSet OneByte(uint8_t byte, bool fold);

// The class of \d \s \w \D \S \W; false if `letter` is none of them.
bool PerlClass(char letter, ByteSet* set);

// Reads the escape whose backslash stands at `*position` as one byte and moves past it.
absl::StatusOr<uint8_t> ParseEscapedByte(std::string_view pattern, size_t* position);

// Reads the bracket expression whose '[' stands at `*position` and moves past its ']'. Sets
// `*non_ascii` if it names a byte above 0x7F.
absl::StatusOr<ByteSet> ParseBracket(std::string_view pattern, size_t* position, bool fold,
                                     bool* non_ascii);

}  // namespace keysieve::detect::regex
