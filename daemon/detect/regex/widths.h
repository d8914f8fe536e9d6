// SPDX-License-Identifier: MIT
// How many bytes a regex can match: the least and the most, for every node of a tree.
#pragma once

#include <cstdint>
#include <vector>

#include "daemon/detect/regex/ast.h"

namespace keysieve::detect::regex {

inline constexpr uint64_t kUnbounded = UINT64_MAX;

// Bytes. `min` <= `max`; a `max` of kUnbounded has no limit. A node that matches nothing at all
// still gets widths of a node of its shape.
struct Widths {
  uint64_t min = 0;
  uint64_t max = 0;
  bool operator==(const Widths&) const = default;
};

// a + b and a * b where kUnbounded absorbs; nothing times anything is nothing.
uint64_t AddWidth(uint64_t a, uint64_t b);
uint64_t MultiplyWidth(uint64_t a, uint64_t b);

// One entry a node, in the tree's order. Pure.
std::vector<Widths> ComputeWidths(const Ast& ast);

}  // namespace keysieve::detect::regex
