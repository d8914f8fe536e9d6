// SPDX-License-Identifier: MIT
// Each node offers its rarest set of required strings to its parent: a sequence may take it from
// one part or from a window of neighbouring parts whose strings are few, an alternation must take
// one from every branch, a repeat takes its first turn's.
#include "daemon/detect/regex/cuts.h"

#include <algorithm>
#include <string>
#include <utility>

#include "daemon/detect/regex/exact_set.h"
#include "daemon/detect/regex/first_bytes.h"
#include "daemon/detect/regex/run_probe.h"

namespace keysieve::detect::regex {
namespace {

constexpr uint64_t kBudgetSymbols = 2 << 20;
constexpr double kCostOfALiteral = 0.01;  // hits per MB: keeps tables small between near equals
constexpr size_t kMaxConfirmParts = 32;   // behind the literal, in each sequence it stands in
constexpr double kCostOfUnboundedBefore = 1.2;  // factor: such a window reaches back without end

struct Candidate {
  ExactSet strings;
  uint64_t before = 0;  // most bytes from the node's start to the string's
  uint64_t after = 0;   // most bytes from the string's start to the node's end
  double cost = 0;
  uint32_t confirm = 0;  // a node that matches from the string on
  bool open = true;      // `confirm` goes on to the node's end, so that more may follow it
};

// A part of a sequence: what it stands for, if that is few strings, and how wide it is.
struct Part {
  const ExactSet* exact = nullptr;
  uint64_t max_width = 0;
  uint32_t id = 0;
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
        work_(ast),
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

  // The tree that Candidate::confirm points into.
  Ast TakeTree() { return std::move(work_); }

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

  // Whether `candidate` was better than what node `id` had.
  bool Offer(Candidate candidate, uint32_t id) {
    if (!best_[id] || std::pair(candidate.cost, best_[id]->strings[0].size()) <
                          std::pair(best_[id]->cost, candidate.strings[0].size())) {
      best_[id] = std::move(candidate);  // rarer, or as rare and longer
      return true;
    }
    return false;
  }

  uint32_t Add(NodeKind kind, std::vector<uint32_t> children) {
    Node node;
    node.kind = kind;
    node.children = std::move(children);
    work_.nodes.push_back(std::move(node));
    return static_cast<uint32_t>(work_.nodes.size() - 1);
  }

  // Lengthens the confirming node of `id`'s candidate by the parts from `next` on.
  void FollowWith(const std::vector<uint32_t>& parts, size_t next, uint32_t id) {
    Candidate& candidate = *best_[id];
    if (!candidate.open || next == parts.size()) return;
    const size_t end = std::min(parts.size(), next + kMaxConfirmParts);
    std::vector<uint32_t> sequence = {candidate.confirm};
    for (; next < end; ++next) sequence.push_back(parts[next]);
    candidate.open = end == parts.size();
    candidate.confirm = Add(NodeKind::kCat, std::move(sequence));
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
        if (Offer(std::move(candidate), id)) FollowWith(node.children, i + 1, id);
      }
      ahead = AddWidth(ahead, widths_[child].max);
    }
  }

  void TakeFromBranches(const Node& node, uint32_t id) {
    Candidate all;
    std::vector<uint32_t> confirms;
    for (const uint32_t child : node.children) {
      std::optional<Candidate> branch = std::exchange(best_[child], std::nullopt);
      if (!branch) return;
      all.before = std::max(all.before, branch->before);
      all.after = std::max(all.after, branch->after);
      all.strings.insert(all.strings.end(), branch->strings.begin(), branch->strings.end());
      all.open = all.open && branch->open;
      confirms.push_back(branch->confirm);
    }
    std::sort(all.strings.begin(), all.strings.end());
    all.strings.erase(std::unique(all.strings.begin(), all.strings.end()), all.strings.end());
    if (all.strings.size() > kMaxCutLiterals || !SetCost(&all)) return;
    if (Offer(std::move(all), id)) best_[id]->confirm = Add(NodeKind::kAlt, std::move(confirms));
  }

  void TakeFromFirstTurn(const Node& node, uint32_t id) {
    std::optional<Candidate> turn = std::exchange(best_[node.children[0]], std::nullopt);
    if (node.min == 0 || !turn) return;
    const uint64_t more = node.max == kNoMax ? kUnbounded : static_cast<uint64_t>(node.max) - 1;
    turn->after = AddWidth(turn->after, MultiplyWidth(more, widths_[node.children[0]].max));
    if (!Offer(*std::move(turn), id)) return;
    const uint32_t others =
        AddRepeat(node, node.min - 1, node.max == kNoMax ? kNoMax : node.max - 1);
    FollowWith({others}, 0, id);
  }

  // `node`, which is a repeat, with other counts.
  uint32_t AddRepeat(const Node& node, int32_t min, int32_t max) {
    const uint32_t id = Add(NodeKind::kRepeat, node.children);
    work_.nodes[id].min = min;
    work_.nodes[id].max = max;
    return id;
  }

  // `node` as one part, or its required turns as parts of their own so that windows can enter it.
  void AddParts(uint32_t id, std::vector<Part>* parts) {
    const Node& node = ast_.nodes[id];
    const bool fixed = node.min == node.max;
    const ExactSet* turn = nullptr;
    if (node.kind == NodeKind::kRepeat && node.min > 0 && (fixed || !exact_[id])) {
      const auto& exact = exact_[node.children[0]];
      turn = exact ? &*exact : nullptr;
    }
    if (turn == nullptr) {
      parts->push_back({exact_[id] ? &*exact_[id] : nullptr, widths_[id].max, id});
      return;
    }
    const Part one{turn, widths_[node.children[0]].max, node.children[0]};
    const bool single = turn->size() == 1;
    const int32_t front = std::min<int32_t>(node.min, single ? kMaxCutLiteralBytes : 2);
    const int32_t back = std::min<int32_t>(node.min - front, single ? 0 : 2);
    const int32_t middle = node.max == kNoMax ? kNoMax : node.max - front - back;
    parts->insert(parts->end(), static_cast<size_t>(front), one);
    if (middle != 0) {
      const uint64_t most = middle == kNoMax ? kUnbounded : static_cast<uint64_t>(middle);
      parts->push_back({nullptr, MultiplyWidth(most, one.max_width),
                        AddRepeat(node, node.min - front - back, middle)});
    }
    parts->insert(parts->end(), static_cast<size_t>(back), one);
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
    size_t winner = parts.size();
    for (size_t i = 0; i < parts.size(); ++i) {
      if (OfferWindowsFrom(parts, i, ahead, behind, id)) winner = i;
      ahead = AddWidth(ahead, parts[i].max_width);
    }
    if (winner == parts.size()) return;
    std::vector<uint32_t> confirm;
    for (; winner < parts.size(); ++winner) confirm.push_back(parts[winner].id);
    best_[id]->confirm = confirm[0];
    FollowWith(confirm, 1, id);
  }

  // Whether one of the windows that begin with part `first` was the best so far.
  bool OfferWindowsFrom(const std::vector<Part>& parts, size_t first, uint64_t ahead,
                        const std::vector<uint64_t>& behind, uint32_t id) {
    bool won = false;
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
      if (!SetCost(&candidate)) break;
      won = Offer(std::move(candidate), id) || won;
    }
    return won;
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
  Ast work_;  // the tree, with the confirming nodes added at its end
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

// Whether every occurrence of `longer` begins with one of `start`.
bool Begins(const megakernel::Literal& start, const megakernel::Literal& longer) {
  if (start.ignore_case) return Lower(longer.bytes).starts_with(start.bytes);
  return !longer.ignore_case && longer.bytes.starts_with(start.bytes);
}

// Drops every literal that begins with another one: that one's hit does for both. One that merely
// holds another stays, because its hit is where `confirm` begins.
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
  for (megakernel::Literal& literal : literals) {
    if (std::any_of(cut.literals.begin(), cut.literals.end(),
                    [&](const auto& kept) { return Begins(kept, literal); })) {
      continue;
    }
    cut.hits_per_mb += profile.HitsPerMb(literal);
    cut.literals.push_back(std::move(literal));
  }
  return cut;
}

}  // namespace

Analysis Analyze(const Ast& ast, const Profile& profile) {
  const std::vector<Widths> widths = ComputeWidths(ast);
  Analysis analysis;
  analysis.width = widths[ast.root];
  analysis.run = FindRunProbe(ast, widths);
  analysis.first = FirstBytes(ast);
  if (analysis.width.max == kUnbounded) {
    analysis.prefix = BoundedPrefix(ast, ast.root, kMaxPrefixBytes);
  }
  Search search(ast, widths, profile);
  const std::optional<Candidate> best = search.Find();
  if (!best) return analysis;
  analysis.cut = ToCut(*best, profile);
  analysis.cut->confirm = BoundedPrefix(search.TakeTree(), best->confirm, kMaxConfirmBytes);
  return analysis;
}

}  // namespace keysieve::detect::regex
