// SPDX-License-Identifier: MIT
// A regex as a tree over bytes, for analysis; RE2 alone decides what matches. Reads the part of
// RE2's syntax that means bytes. What it does not know it refuses, and the regex is then treated as
// one that nothing is known of.
//
//   std::optional<SyntaxNode> tree = ParseSyntax("ghp_[0-9a-zA-Z]{36}");
#pragma once

#include <bitset>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace keysieve::detect {

using ByteSet = std::bitset<256>;

inline constexpr uint32_t kUnbounded = UINT32_MAX;

struct SyntaxNode {
  enum class Kind : uint8_t {
    kEmpty,   // nothing, or an assertion: no bytes
    kBytes,   // one byte of `bytes`
    kConcat,  // `children` in order
    kAlternate,
    kRepeat,  // children[0], `min` to `max` times
  };
  Kind kind = Kind::kEmpty;
  ByteSet bytes;
  std::vector<SyntaxNode> children;
  uint32_t min = 0;
  uint32_t max = 0;  // kUnbounded: no limit
};

// Of a pattern that RE2 compiles in Latin-1. Assertions and groups leave no trace.
std::optional<SyntaxNode> ParseSyntax(std::string_view pattern);

}  // namespace keysieve::detect
