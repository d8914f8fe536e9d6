// SPDX-License-Identifier: MIT
// Bottom up: a sequence begins with what its parts begin with, up to the first that cannot be
// empty.
#include "daemon/detect/regex/first_bytes.h"

#include <vector>

namespace keysieve::detect::regex {
namespace {

struct First {
  ByteSet bytes;
  bool empty = false;  // the node may match nothing
};

First OfNode(const Node& node, const std::vector<First>& known) {
  First first;
  switch (node.kind) {
    case NodeKind::kEmpty:
    case NodeKind::kAssert:
      first.empty = true;
      break;
    case NodeKind::kClass:
      first.bytes = node.set;
      break;
    case NodeKind::kCat:
      first.empty = true;
      for (size_t i = 0; i < node.children.size() && first.empty; ++i) {
        first.bytes |= known[node.children[i]].bytes;
        first.empty = known[node.children[i]].empty;
      }
      break;
    case NodeKind::kAlt:
      for (const uint32_t child : node.children) {
        first.bytes |= known[child].bytes;
        first.empty = first.empty || known[child].empty;
      }
      break;
    case NodeKind::kRepeat:
      first = known[node.children[0]];
      first.empty = first.empty || node.min == 0;
      break;
  }
  return first;
}

}  // namespace

std::optional<ByteSet> FirstBytes(const Ast& ast) {
  std::vector<First> first;
  first.reserve(ast.nodes.size());
  for (const Node& node : ast.nodes) first.push_back(OfNode(node, first));
  if (first[ast.root].empty) return std::nullopt;
  return first[ast.root].bytes;
}

}  // namespace keysieve::detect::regex
