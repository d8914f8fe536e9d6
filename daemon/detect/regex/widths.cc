// SPDX-License-Identifier: MIT
// Widths bottom up. Minimums stop short of kUnbounded: nested counts can pass 2^64.
#include "daemon/detect/regex/widths.h"

#include <algorithm>

namespace keysieve::detect::regex {
namespace {

constexpr uint64_t kLargest = kUnbounded - 1;

Widths Repeated(const Node& node, const Widths& child) {
  Widths widths;
  widths.min = std::min(kLargest, MultiplyWidth(static_cast<uint64_t>(node.min), child.min));
  widths.max =
      MultiplyWidth(node.max == kNoMax ? kUnbounded : static_cast<uint64_t>(node.max), child.max);
  return widths;
}

Widths OfNode(const Node& node, const std::vector<Widths>& known) {
  Widths widths;
  switch (node.kind) {
    case NodeKind::kEmpty:
    case NodeKind::kAssert:
      break;
    case NodeKind::kClass:
      widths = {1, 1};
      break;
    case NodeKind::kCat:
      for (const uint32_t child : node.children) {
        widths.min = std::min(kLargest, AddWidth(widths.min, known[child].min));
        widths.max = AddWidth(widths.max, known[child].max);
      }
      break;
    case NodeKind::kAlt:
      widths.min = kLargest;
      for (const uint32_t child : node.children) {
        widths.min = std::min(widths.min, known[child].min);
        widths.max = std::max(widths.max, known[child].max);
      }
      break;
    case NodeKind::kRepeat:
      widths = Repeated(node, known[node.children[0]]);
      break;
  }
  return widths;
}

}  // namespace

uint64_t AddWidth(uint64_t a, uint64_t b) { return a > kUnbounded - b ? kUnbounded : a + b; }

uint64_t MultiplyWidth(uint64_t a, uint64_t b) {
  if (a == 0 || b == 0) return 0;
  return a > kUnbounded / b ? kUnbounded : a * b;
}

std::vector<Widths> ComputeWidths(const Ast& ast) {
  std::vector<Widths> widths;
  widths.reserve(ast.nodes.size());
  for (const Node& node : ast.nodes) widths.push_back(OfNode(node, widths));
  return widths;
}

}  // namespace keysieve::detect::regex
