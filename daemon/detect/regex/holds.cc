// SPDX-License-Identifier: MIT
// Bottom up: a sequence holds a word if a part does, or if neighbouring parts that stand for few
// strings do; an alternation if every branch does; a repeat if its first turn does.
#include "daemon/detect/regex/holds.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "daemon/detect/regex/exact_set.h"

namespace keysieve::detect::regex {
namespace {

constexpr uint64_t kBudgetSymbols = 2 << 20;
constexpr size_t kMaxStrings = 256;

class Holder {
 public:
  Holder(const Ast& ast, std::span<const std::string> words)
      : ast_(ast),
        words_(words),
        budget_(kBudgetSymbols),
        exact_(ComputeExactSets(ast, &budget_)),
        holds_(ast.nodes.size()) {}

  bool Root() {
    for (uint32_t i = 0; i <= ast_.root; ++i) {
      holds_[i] = Of(ast_.nodes[i]) || (exact_[i] && AllHold(*exact_[i]));
    }
    return holds_[ast_.root];
  }

 private:
  bool Of(const Node& node) {
    const auto holds = [&](uint32_t child) { return holds_[child]; };
    switch (node.kind) {
      case NodeKind::kEmpty:
      case NodeKind::kAssert:
      case NodeKind::kClass:
        return false;
      case NodeKind::kCat:
        return std::any_of(node.children.begin(), node.children.end(), holds) ||
               NeighboursHold(node);
      case NodeKind::kAlt:
        return std::all_of(node.children.begin(), node.children.end(), holds);
      case NodeKind::kRepeat:
        return node.min > 0 && holds_[node.children[0]];
    }
    return false;
  }

  bool NeighboursHold(const Node& node) {
    for (size_t first = 0; first < node.children.size(); ++first) {
      std::optional<ExactSet> strings = ExactSet{SymbolString()};
      for (size_t i = first; i < node.children.size() && exact_[node.children[i]]; ++i) {
        strings = Product(*strings, *exact_[node.children[i]], kMaxStrings, &budget_);
        if (!strings) break;
        if (AllHold(*strings)) return true;
      }
    }
    return false;
  }

  bool AllHold(const ExactSet& strings) {
    return std::all_of(strings.begin(), strings.end(), [&](const SymbolString& symbols) {
      if (!budget_.Spend(symbols.size() * words_.size())) return false;
      std::string text;
      for (const Symbol symbol : symbols) {
        const char c = static_cast<char>(symbol & 0xFF);
        text += c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
      }
      return std::any_of(words_.begin(), words_.end(), [&](const std::string& word) {
        return text.find(word) != std::string::npos;
      });
    });
  }

  const Ast& ast_;
  std::span<const std::string> words_;
  Budget budget_;
  std::vector<std::optional<ExactSet>> exact_;
  std::vector<bool> holds_;
};

}  // namespace

bool EveryMatchHolds(const Ast& ast, std::span<const std::string> words) {
  return Holder(ast, words).Root();
}

}  // namespace keysieve::detect::regex
