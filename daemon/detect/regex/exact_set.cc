// SPDX-License-Identifier: MIT
// Exact sets bottom up. Each step pays into the budget before it allocates.
#include "daemon/detect/regex/exact_set.h"

#include <algorithm>

namespace keysieve::detect::regex {
namespace {

constexpr size_t kMaxClassSymbols = 16;  // of one class; more would multiply and not get rarer
constexpr size_t kMaxStrings = 256;
constexpr size_t kMaxLength = 32;

bool IsLower(size_t c) { return c >= 'a' && c <= 'z'; }
bool IsUpper(size_t c) { return c >= 'A' && c <= 'Z'; }

std::optional<ExactSet> OfClass(const ByteSet& set) {
  ExactSet strings;
  for (size_t c = 0; c < 256; ++c) {
    if (!set[c] || (IsUpper(c) && set[c + 0x20])) continue;  // pairs are added at the lower case
    if (strings.size() == kMaxClassSymbols) return std::nullopt;
    const bool any_case = IsLower(c) && set[c - 0x20];
    strings.push_back(SymbolString(1, static_cast<Symbol>(c | (any_case ? kAnyCase : 0))));
  }
  if (strings.empty()) return std::nullopt;  // matches nothing: no string to name
  std::sort(strings.begin(), strings.end());
  return strings;
}

size_t Symbols(const ExactSet& set) {
  size_t symbols = 0;
  for (const SymbolString& s : set) symbols += s.size() + 1;
  return symbols;
}

// `a` and `b` together.
std::optional<ExactSet> Union(ExactSet a, const ExactSet& b, Budget* budget) {
  if (a.size() + b.size() > kMaxStrings || !budget->Spend(Symbols(a) + Symbols(b))) {
    return std::nullopt;
  }
  a.insert(a.end(), b.begin(), b.end());
  std::sort(a.begin(), a.end());
  a.erase(std::unique(a.begin(), a.end()), a.end());
  return a;
}

std::optional<ExactSet> OfRepeat(const Node& node, const ExactSet& once, Budget* budget) {
  if (node.max == kNoMax || static_cast<size_t>(node.max) > kMaxLength) return std::nullopt;
  std::optional<ExactSet> power = ExactSet{SymbolString()};
  std::optional<ExactSet> all;
  for (int32_t i = 0; i <= node.max; ++i) {
    if (i > 0) power = Product(*power, once, kMaxStrings, budget);
    if (!power) return std::nullopt;
    if (i < node.min) continue;
    all = all ? Union(*std::move(all), *power, budget) : power;
    if (!all) return std::nullopt;
  }
  return all;
}

std::optional<ExactSet> OfNode(const Node& node, const std::vector<std::optional<ExactSet>>& known,
                               Budget* budget) {
  std::optional<ExactSet> set;
  switch (node.kind) {
    case NodeKind::kEmpty:
    case NodeKind::kAssert:
      return ExactSet{SymbolString()};
    case NodeKind::kClass:
      return OfClass(node.set);
    case NodeKind::kRepeat:
      if (!known[node.children[0]]) return std::nullopt;
      return OfRepeat(node, *known[node.children[0]], budget);
    case NodeKind::kCat:
      set = ExactSet{SymbolString()};
      break;
    case NodeKind::kAlt:
      set = ExactSet{};
      break;
  }
  for (const uint32_t child : node.children) {
    if (!known[child]) return std::nullopt;
    set = node.kind == NodeKind::kCat ? Product(*set, *known[child], kMaxStrings, budget)
                                      : Union(*std::move(set), *known[child], budget);
    if (!set) return std::nullopt;
  }
  return set;
}

}  // namespace

std::optional<ExactSet> Product(const ExactSet& a, const ExactSet& b, size_t max_strings,
                                Budget* budget) {
  if (a.size() * b.size() > max_strings) return std::nullopt;
  if (!budget->Spend(Symbols(a) * b.size() + Symbols(b) * a.size())) return std::nullopt;
  ExactSet product;
  product.reserve(a.size() * b.size());
  for (const SymbolString& left : a) {
    for (const SymbolString& right : b) {
      if (left.size() + right.size() > kMaxLength) return std::nullopt;
      product.push_back(left + right);
    }
  }
  std::sort(product.begin(), product.end());
  product.erase(std::unique(product.begin(), product.end()), product.end());
  return product;
}

std::vector<std::optional<ExactSet>> ComputeExactSets(const Ast& ast, Budget* budget) {
  std::vector<std::optional<ExactSet>> sets;
  sets.reserve(ast.nodes.size());
  for (const Node& node : ast.nodes) sets.push_back(OfNode(node, sets, budget));
  return sets;
}

}  // namespace keysieve::detect::regex
