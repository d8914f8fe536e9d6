// SPDX-License-Identifier: MIT
// Bottom up, each part of the regex tells how long its matches are, the strings it stands for if
// they are few, and the best set of literals inside it. A sequence joins neighbouring strings; an
// alternation needs a set from every branch. Of several sets the one that should be rarest wins.
#include "daemon/detect/required_literals.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace keysieve::detect {
namespace {

constexpr size_t kMaxStrings = 40;      // that a part may stand for
constexpr size_t kMaxClassBytes = 20;   // that a class may hold to count as few
constexpr size_t kMaxStringBytes = 32;  // longer ones are no rarer
constexpr uint32_t kUnrolled = 4;       // copies of a repeated part that may join its neighbours
constexpr uint64_t kFar = UINT64_MAX / 4;

using Strings = std::vector<std::string>;

struct Choice {
  Strings literals;
  uint64_t before = 0;
  double cost = 0;
};

struct Part {
  uint64_t shortest = 0;
  uint64_t longest = 0;            // kFar: no limit
  std::optional<Strings> strings;  // all it can match, lower case; absent if too many
  std::optional<Choice> best;
};

uint64_t Add(uint64_t a, uint64_t b) { return std::min(kFar, a + b); }

uint64_t Times(uint64_t a, uint64_t times) {
  if (a == 0 || times == 0) return 0;
  return a >= kFar / times ? kFar : a * times;
}

// How often a byte stands in source text, letters in either case; roughly.
double Frequency(unsigned char byte) {
  if (std::string_view("etaoinsr").find(static_cast<char>(byte)) != std::string_view::npos) {
    return 0.05;
  }
  if (byte >= 'a' && byte <= 'z') return 0.02;
  if (byte == ' ') return 0.15;
  if (byte >= '0' && byte <= '9') return 0.01;
  return 0.008;
}

// What looking for them costs. A literal far into the match widens every window.
double Cost(const Strings& literals, uint64_t before) {
  double cost = 0;
  for (const std::string& literal : literals) {
    double frequency = 1;
    for (unsigned char byte : literal) frequency *= Frequency(byte);
    cost += frequency;
  }
  return cost * (1 + static_cast<double>(before) / 256);
}

void SortUnique(Strings* strings) {
  std::sort(strings->begin(), strings->end());
  strings->erase(std::unique(strings->begin(), strings->end()), strings->end());
}

void Keep(std::optional<Choice> choice, std::optional<Choice>* best) {
  if (choice && (!*best || choice->cost < (*best)->cost)) *best = std::move(choice);
}

Part OfBytes(const ByteSet& bytes) {
  Part part{.shortest = 1, .longest = 1};
  Strings strings;
  for (int c = 0; c < 256; ++c) {
    if (!bytes[c]) continue;
    const int lower = c >= 'A' && c <= 'Z' ? c + 32 : c;
    strings.emplace_back(1, static_cast<char>(lower));
  }
  SortUnique(&strings);
  if (strings.size() <= kMaxClassBytes) part.strings = std::move(strings);
  return part;
}

// Every string of `a` followed by every string of `b`; absent if there are too many.
std::optional<Strings> Product(const Strings& a, const Strings& b) {
  if (a.size() * b.size() > kMaxStrings) return {};
  Strings out;
  for (const std::string& first : a) {
    for (const std::string& second : b) {
      if (first.size() + second.size() > kMaxStringBytes) return {};
      out.push_back(first + second);
    }
  }
  SortUnique(&out);
  return out;
}

class Analysis {
 public:
  explicit Analysis(const std::vector<std::string>& sought) : sought_(sought) {}

  Part Of(const SyntaxNode& node) const;

 private:
  bool LongEnough(const std::string& text) const {
    return text.size() >= kMinRequiredBytes ||
           (text.size() == 2 && std::find(sought_.begin(), sought_.end(), text) != sought_.end());
  }
  std::optional<Choice> Choose(const Strings& strings, uint64_t before) const;
  Part OfSequence(const std::vector<Part>& parts) const;
  Part OfAlternatives(const std::vector<Part>& parts) const;
  Part OfOptional(const Part& inner) const;
  void Append(const SyntaxNode& node, std::vector<Part>* parts) const;
  void AppendRepeat(const SyntaxNode& node, std::vector<Part>* parts) const;

  const std::vector<std::string>& sought_;
};

// A choice of strings of which a match holds one, `before` bytes from its start, if they will do.
std::optional<Choice> Analysis::Choose(const Strings& strings, uint64_t before) const {
  if (strings.empty() || strings.size() > kMaxRequiredLiterals || before > kMaxReach) return {};
  if (!std::all_of(strings.begin(), strings.end(), [&](auto& text) { return LongEnough(text); })) {
    return {};
  }
  return Choice{strings, before, Cost(strings, before)};
}

Part Analysis::OfSequence(const std::vector<Part>& parts) const {
  Part whole;
  whole.strings = Strings{""};
  uint64_t before = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].best) {
      Choice inner = *parts[i].best;
      inner.before = Add(inner.before, before);
      if (inner.before <= kMaxReach) {
        inner.cost = Cost(inner.literals, inner.before);
        Keep(std::move(inner), &whole.best);
      }
    }
    std::optional<Strings> run = Strings{""};  // what parts i.. stand for together
    for (size_t j = i; j < parts.size() && parts[j].strings; ++j) {
      run = Product(*run, *parts[j].strings);
      if (!run) break;
      Keep(Choose(*run, before), &whole.best);
    }
    whole.strings = whole.strings && parts[i].strings ? Product(*whole.strings, *parts[i].strings)
                                                      : std::nullopt;
    before = Add(before, parts[i].longest);
    whole.shortest = Add(whole.shortest, parts[i].shortest);
  }
  whole.longest = before;
  return whole;
}

Part Analysis::OfAlternatives(const std::vector<Part>& parts) const {
  Part whole{.shortest = kFar};
  whole.strings = Strings{};
  std::optional<Choice> joined = Choice{};
  for (const Part& part : parts) {
    whole.shortest = std::min(whole.shortest, part.shortest);
    whole.longest = std::max(whole.longest, part.longest);
    if (whole.strings && part.strings) {
      whole.strings->insert(whole.strings->end(), part.strings->begin(), part.strings->end());
    } else {
      whole.strings.reset();
    }
    if (joined && part.best) {
      joined->literals.insert(joined->literals.end(), part.best->literals.begin(),
                              part.best->literals.end());
      joined->before = std::max(joined->before, part.best->before);
    } else {
      joined.reset();
    }
  }
  if (joined) {
    SortUnique(&joined->literals);
    whole.best = Choose(joined->literals, joined->before);
  }
  if (whole.strings) {
    SortUnique(&*whole.strings);
    if (whole.strings->size() > kMaxStrings) whole.strings.reset();
  }
  return whole;
}

Part Analysis::OfOptional(const Part& inner) const {
  return OfAlternatives({Part{.strings = Strings{""}}, inner});
}

// The first copies are spelt out, so that they can join what stands beside them.
void Analysis::AppendRepeat(const SyntaxNode& node, std::vector<Part>* parts) const {
  const Part inner = Of(node.children[0]);
  if (node.min == 0 && node.max == 1 && inner.strings) {
    parts->push_back(OfOptional(inner));
    return;
  }
  const uint32_t spelt = std::min(node.min, kUnrolled);
  parts->insert(parts->end(), spelt, inner);
  if (node.max == spelt) return;
  Part rest{.shortest = Times(inner.shortest, node.min - spelt)};
  rest.longest = node.max != kUnbounded ? Times(inner.longest, node.max - spelt)
                 : inner.longest == 0   ? 0
                                        : kFar;
  parts->push_back(std::move(rest));
}

void Analysis::Append(const SyntaxNode& node, std::vector<Part>* parts) const {
  if (node.kind == SyntaxNode::Kind::kConcat) {
    for (const SyntaxNode& child : node.children) Append(child, parts);
  } else if (node.kind == SyntaxNode::Kind::kRepeat) {
    AppendRepeat(node, parts);
  } else {
    parts->push_back(Of(node));
  }
}

Part Analysis::Of(const SyntaxNode& node) const {
  std::vector<Part> parts;
  switch (node.kind) {
    case SyntaxNode::Kind::kBytes:
      return OfBytes(node.bytes);
    case SyntaxNode::Kind::kConcat:
    case SyntaxNode::Kind::kRepeat:
      Append(node, &parts);
      return OfSequence(parts);
    case SyntaxNode::Kind::kAlternate:
      for (const SyntaxNode& child : node.children) parts.push_back(Of(child));
      return OfAlternatives(parts);
    case SyntaxNode::Kind::kEmpty:
      break;
  }
  return {.strings = Strings{""}};
}

}  // namespace

std::optional<RequiredLiterals> FindRequired(const SyntaxNode& tree,
                                             const std::vector<std::string>& sought) {
  const Part whole = Analysis(sought).Of(tree);
  if (!whole.best) return std::nullopt;
  RequiredLiterals out{.literals = whole.best->literals, .before = whole.best->before};
  if (whole.longest <= kMaxReach) out.longest = whole.longest;
  return out;
}

}  // namespace keysieve::detect
