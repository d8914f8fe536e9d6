// SPDX-License-Identifier: MIT
// Each node offers its rarest set of required strings to its parent: a sequence may take it from
// one part or from a window of neighbouring parts whose strings are few, an alternation must take
// one from every branch, a repeat takes its first turn's.
#include "daemon/detect/regex/cuts.h"

#include <algorithm>
#include <string>
#include <utility>

#include "daemon/detect/regex/exact_set.h"
#include "daemon/detect/regex/run_probe.h"

namespace keysieve::detect::regex {
namespace {

constexpr uint64_t kBudgetSymbols = 2 << 20;
constexpr double kCostOfALiteral = 0.01;  // hits per MB: keeps tables small between near equals
constexpr double kCostOfUnboundedBefore = 1.2;  // factor: such a window reaches back without end

struct Candidate {
  ExactSet strings;
  uint64_t before = 0;  // most bytes from the node's start to the string's
  uint64_t after = 0;   // most bytes from the string's start to the node's end
  double cost = 0;
};

// A part of a sequence: what it stands for, if that is few strings, and how wide it is.
struct Part {
  const ExactSet* exact = nullptr;
  uint64_t max_width = 0;
};

megakernel::Literal ToLiteral(const SymbolString& string) {
  megakernel::Literal literal;
  for (const Symbol symbol : string) {
    literal.ignore_case = literal.ignore_case || (symbol & kAnyCase) != 0;
    literal.bytes += static_cast<char>(symbol & 0xFF);
  }
  if (!literal.ignore_case) return literal;
  // One letter in either case makes all of them so: a superset.
  for (char& c : literal.bytes) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c | 0x20);
  }
  return literal;
}

class Search {
 public:
  Search(const Ast& ast, const std::vector<Widths>& widths, const Profile& profile)
      : ast_(ast),
        widths_(widths),
        profile_(profile),
        budget_(kBudgetSymbols),
        exact_(ComputeExactSets(ast, &budget_)),
        best_(ast.nodes.size()) {}

  std::optional<Candidate> Find() {
    // Sequences spliced into others stay in the tree unused: look only at what the root reaches.
    std::vector<bool> used(ast_.nodes.size());
    used[ast_.root] = true;
    for (size_t i = ast_.root + 1; i-- > 0;) {
      if (!used[i]) continue;
      for (const uint32_t child : ast_.nodes[i].children) used[child] = true;
    }
    for (uint32_t i = 0; i <= ast_.root; ++i) {
      if (used[i]) Visit(i);
    }
    return std::move(best_[ast_.root]);
  }

 private:
  void Visit(uint32_t id) {
    const Node& node = ast_.nodes[id];
    switch (node.kind) {
      case NodeKind::kEmpty:
      case NodeKind::kAssert:
      case NodeKind::kClass:
        return;
      case NodeKind::kCat:
        TakeFromParts(node, id);
        OfferWindows(node.children, id);
        return;
      case NodeKind::kAlt:
        TakeFromBranches(node, id);
        OfferWindows({id}, id);
        return;
      case NodeKind::kRepeat:
        TakeFromFirstTurn(node, id);
        OfferWindows({id}, id);
        return;
    }
  }

  void Offer(Candidate candidate, uint32_t id) {
    if (!best_[id] || std::pair(candidate.cost, best_[id]->strings[0].size()) <
                          std::pair(best_[id]->cost, candidate.strings[0].size())) {
      best_[id] = std::move(candidate);  // rarer, or as rare and longer
    }
  }

  void TakeFromParts(const Node& node, uint32_t id) {
    uint64_t behind = 0;  // of the parts after this one
    std::vector<uint64_t> rest(node.children.size());
    for (size_t i = node.children.size(); i-- > 0;) {
      rest[i] = behind;
      behind = AddWidth(behind, widths_[node.children[i]].max);
    }
    uint64_t ahead = 0;
    for (size_t i = 0; i < node.children.size(); ++i) {
      const uint32_t child = node.children[i];
      if (best_[child]) {
        Candidate candidate = *std::exchange(best_[child], std::nullopt);
        candidate.before = AddWidth(candidate.before, ahead);
        candidate.after = AddWidth(candidate.after, rest[i]);
        SetCost(&candidate);
        Offer(std::move(candidate), id);
      }
      ahead = AddWidth(ahead, widths_[child].max);
    }
  }

  void TakeFromBranches(const Node& node, uint32_t id) {
    Candidate all;
    for (const uint32_t child : node.children) {
      std::optional<Candidate> branch = std::exchange(best_[child], std::nullopt);
      if (!branch) return;
      all.before = std::max(all.before, branch->before);
      all.after = std::max(all.after, branch->after);
      all.strings.insert(all.strings.end(), branch->strings.begin(), branch->strings.end());
    }
    std::sort(all.strings.begin(), all.strings.end());
    all.strings.erase(std::unique(all.strings.begin(), all.strings.end()), all.strings.end());
    if (all.strings.size() > kMaxCutLiterals || !SetCost(&all)) return;
    Offer(std::move(all), id);
  }

  void TakeFromFirstTurn(const Node& node, uint32_t id) {
    std::optional<Candidate> turn = std::exchange(best_[node.children[0]], std::nullopt);
    if (node.min == 0 || !turn) return;
    const uint64_t more = node.max == kNoMax ? kUnbounded : static_cast<uint64_t>(node.max) - 1;
    turn->after = AddWidth(turn->after, MultiplyWidth(more, widths_[node.children[0]].max));
    Offer(*std::move(turn), id);
  }

  // `node` as one part, or its required turns as parts of their own so that windows can enter it.
  void AddParts(uint32_t id, std::vector<Part>* parts) const {
    const Node& node = ast_.nodes[id];
    const bool fixed = node.min == node.max;
    const ExactSet* turn = nullptr;
    if (node.kind == NodeKind::kRepeat && node.min > 0 && (fixed || !exact_[id])) {
      const auto& exact = exact_[node.children[0]];
      turn = exact ? &*exact : nullptr;
    }
    if (turn == nullptr) {
      parts->push_back({exact_[id] ? &*exact_[id] : nullptr, widths_[id].max});
      return;
    }
    const uint64_t width = widths_[node.children[0]].max;
    const bool single = turn->size() == 1;
    const int32_t front = std::min<int32_t>(node.min, single ? kMaxCutLiteralBytes : 2);
    const int32_t back = std::min<int32_t>(node.min - front, single ? 0 : 2);
    const uint64_t middle =
        node.max == kNoMax ? kUnbounded : static_cast<uint64_t>(node.max - front - back);
    parts->insert(parts->end(), static_cast<size_t>(front), {turn, width});
    if (middle > 0) parts->push_back({nullptr, MultiplyWidth(middle, width)});
    parts->insert(parts->end(), static_cast<size_t>(back), {turn, width});
  }

  // Offers node `id`, which is `sequence`, every window of neighbouring parts with few strings.
  void OfferWindows(const std::vector<uint32_t>& sequence, uint32_t id) {
    std::vector<Part> parts;
    for (const uint32_t child : sequence) AddParts(child, &parts);
    std::vector<uint64_t> behind(parts.size() + 1, 0);
    for (size_t i = parts.size(); i-- > 0;) {
      behind[i] = AddWidth(parts[i].max_width, behind[i + 1]);
    }
    uint64_t ahead = 0;
    for (size_t i = 0; i < parts.size(); ++i) {
      if (!OfferWindowsFrom(parts, i, ahead, behind, id)) return;
      ahead = AddWidth(ahead, parts[i].max_width);
    }
  }

  // False once the budget is spent.
  bool OfferWindowsFrom(const std::vector<Part>& parts, size_t first, uint64_t ahead,
                        const std::vector<uint64_t>& behind, uint32_t id) {
    std::optional<ExactSet> strings = ExactSet{SymbolString()};
    for (size_t last = first; last < parts.size() && parts[last].exact != nullptr; ++last) {
      strings = Product(*strings, *parts[last].exact, kMaxCutLiterals, &budget_);
      if (!strings) break;
      size_t shortest = SIZE_MAX, longest = 0;
      for (const SymbolString& s : *strings) {
        shortest = std::min(shortest, s.size());
        longest = std::max(longest, s.size());
      }
      if (longest > kMaxCutLiteralBytes) break;
      if (shortest < kMinLiteralBytes) continue;
      Candidate candidate{*strings, ahead, AddWidth(longest, behind[last + 1])};
      if (!SetCost(&candidate)) return false;
      Offer(std::move(candidate), id);
    }
    return budget_.Spend(1);
  }

  bool SetCost(Candidate* candidate) {
    candidate->cost = 0;
    for (const SymbolString& s : candidate->strings) {
      if (!budget_.Spend(4 * s.size())) return false;
      candidate->cost += profile_.HitsPerMb(ToLiteral(s)) + kCostOfALiteral;
    }
    if (candidate->before == kUnbounded) candidate->cost *= kCostOfUnboundedBefore;
    return true;
  }

  const Ast& ast_;
  const std::vector<Widths>& widths_;
  const Profile& profile_;
  Budget budget_;
  std::vector<std::optional<ExactSet>> exact_;
  std::vector<std::optional<Candidate>> best_;
};

std::string Lower(std::string bytes) {
  for (char& c : bytes) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c | 0x20);
  }
  return bytes;
}

// Where the first occurrence of `inner` stands in every occurrence of `outer`; npos if it need not.
size_t Inside(const megakernel::Literal& inner, const megakernel::Literal& outer) {
  if (inner.ignore_case) return Lower(outer.bytes).find(inner.bytes);
  return outer.ignore_case ? std::string::npos : outer.bytes.find(inner.bytes);
}

// Drops every literal that holds another one: the inner one's hit does for both.
Cut ToCut(const Candidate& candidate, const Profile& profile) {
  Cut cut;
  cut.before = candidate.before;
  cut.after = candidate.after;
  std::vector<megakernel::Literal> literals;
  for (const SymbolString& s : candidate.strings) literals.push_back(ToLiteral(s));
  std::sort(literals.begin(), literals.end(), [](const auto& a, const auto& b) {
    if (a.bytes.size() != b.bytes.size()) return a.bytes.size() < b.bytes.size();
    if (a.ignore_case != b.ignore_case) return a.ignore_case;
    return a.bytes < b.bytes;
  });
  uint64_t furthest = 0;
  for (megakernel::Literal& literal : literals) {
    size_t offset = std::string::npos;
    for (const megakernel::Literal& kept : cut.literals) {
      offset = std::min(offset, Inside(kept, literal));
    }
    if (offset != std::string::npos) {
      furthest = std::max<uint64_t>(furthest, offset);
      continue;
    }
    cut.hits_per_mb += profile.HitsPerMb(literal);
    cut.literals.push_back(std::move(literal));
  }
  cut.before = AddWidth(cut.before, furthest);
  return cut;
}

}  // namespace

Analysis Analyze(const Ast& ast, const Profile& profile) {
  const std::vector<Widths> widths = ComputeWidths(ast);
  Analysis analysis;
  analysis.width = widths[ast.root];
  analysis.run = FindRunProbe(ast, widths);
  const std::optional<Candidate> best = Search(ast, widths, profile).Find();
  if (best) analysis.cut = ToCut(*best, profile);
  return analysis;
}

}  // namespace keysieve::detect::regex
