// SPDX-License-Identifier: MIT
// A regex as a bounded tree over bytes. Nodes live in one array and a node's children always stand
// before it, so every analysis is a loop over the array: nothing here recurses, however deep a
// pattern nests. Groups leave no node of their own; capturing is RE2's business.
//
//   for (const Node& node : ast.nodes) ...   // children first
//   const Node& whole = ast.nodes[ast.root];
#pragma once

#include <bitset>
#include <cstdint>
#include <vector>

namespace keysieve::detect::regex {

using ByteSet = std::bitset<256>;

enum class NodeKind : uint8_t {
  kEmpty,   // the empty string
  kClass,   // one byte of `set`; an empty set matches nothing
  kCat,     // children one after the other; at least two, none of them a kCat
  kAlt,     // any one child, the first preferred
  kRepeat,  // the one child, `min` to `max` times
  kAssert,  // no bytes, but `assertion` holds here
};

enum class Assertion : uint8_t {
  kTextStart,
  kTextEnd,
  kLineStart,
  kLineEnd,
  kWordBoundary,
  kNotWordBoundary,
};

inline constexpr int32_t kNoMax = -1;  // of a repeat without an upper count

struct Node {
  NodeKind kind = NodeKind::kEmpty;
  Assertion assertion = Assertion::kTextStart;
  bool greedy = true;
  int32_t min = 0;
  int32_t max = 0;  // kNoMax = any count
  ByteSet set;
  std::vector<uint32_t> children;  // positions in Ast::nodes, all smaller than this node's own
};

struct Ast {
  std::vector<Node> nodes;  // never empty
  uint32_t root = 0;
  // The pattern names a byte above 0x7F, written out or escaped. RE2 reads that as one Latin-1
  // character here; whoever means a UTF-8 character must compile in UTF-8 and drop this tree.
  bool non_ascii = false;
};

}  // namespace keysieve::detect::regex
