// SPDX-License-Identifier: MIT
// Cuts every node short, children first, then prints the root. What a node matches falls into two
// parts: strings short enough that whatever follows the node can still be looked at ("on"), and the
// first bytes of longer ones, after which nothing more is asked ("off").
#include "daemon/detect/regex/prefix.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "daemon/detect/regex/widths.h"

namespace keysieve::detect::regex {
namespace {

constexpr size_t kMaxPatternBytes = 16 << 10;
constexpr int kMaxDepth = 400;        // of the printer's recursion
constexpr uint64_t kSlackBytes = 32;  // that a repeat may take beyond its least and still be "on"

// A part of what a node became: a node of the tree, or nothing.
struct Part {
  bool any = false;
  uint32_t id = 0;
  Widths width;
};

struct Short {
  Part on;
  Part off;
  uint64_t max_bytes() const { return std::max(on.width.max, off.width.max); }
};

class Shortener {
 public:
  Shortener(Ast* ast, uint64_t limit) : ast_(*ast), limit_(limit) {}

  Part Of(uint32_t root) {
    std::vector<Short> shorts;
    for (uint32_t i = 0; i <= root; ++i) shorts.push_back(OfNode(i, shorts));
    return Either(shorts[root].off, shorts[root].on);
  }

 private:
  Short OfNode(uint32_t id, const std::vector<Short>& known) {
    const Node node = ast_.nodes[id];  // a copy: adding nodes moves the originals
    switch (node.kind) {
      case NodeKind::kEmpty:
      case NodeKind::kAssert:
        return {{true, id, {0, 0}}, {}};
      case NodeKind::kClass:
        return {{true, id, {1, 1}}, {}};
      case NodeKind::kCat:
        return OfCat(node, known);
      case NodeKind::kAlt:
        return OfAlt(node, known);
      case NodeKind::kRepeat:
        return OfRepeat(node, known[node.children[0]]);
    }
    return {};
  }

  uint32_t Add(NodeKind kind, std::vector<uint32_t> children) {
    Node node;
    node.kind = kind;
    node.children = std::move(children);
    ast_.nodes.push_back(std::move(node));
    return static_cast<uint32_t>(ast_.nodes.size() - 1);
  }

  Part Empty() { return {true, Add(NodeKind::kEmpty, {}), {0, 0}}; }

  Part Either(const Part& a, const Part& b) {
    if (!a.any || !b.any) return a.any ? a : b;
    return {true,
            Add(NodeKind::kAlt, {a.id, b.id}),
            {std::min(a.width.min, b.width.min), std::max(a.width.max, b.width.max)}};
  }

  Part Both(const Part& a, const Part& b) {
    if (!a.any || !b.any) return {};
    return {true,
            Add(NodeKind::kCat, {a.id, b.id}),
            {a.width.min + b.width.min, a.width.max + b.width.max}};
  }

  Part Repeated(const Part& turn, uint64_t min, uint64_t max) {
    const uint32_t id = Add(NodeKind::kRepeat, {turn.id});
    ast_.nodes[id].min = static_cast<int32_t>(min);
    ast_.nodes[id].max = static_cast<int32_t>(max);
    return {true, id, {turn.width.min * min, turn.width.max * max}};
  }

  Short OfCat(const Node& node, const std::vector<Short>& known) {
    size_t fitting = 0;
    for (uint64_t bytes = 0; fitting < node.children.size(); ++fitting) {
      bytes += known[node.children[fitting]].max_bytes();
      if (bytes > limit_) break;
    }
    // From the right: `off` is off in this part or a later one, or cut by the limit.
    Short rest;
    (fitting == node.children.size() ? rest.on : rest.off) = Empty();
    for (size_t i = fitting; i-- > 0;) {
      const Short& part = known[node.children[i]];
      rest.off = Either(part.off, Both(part.on, rest.off));
      rest.on = Both(part.on, rest.on);
    }
    return rest;
  }

  Short OfAlt(const Node& node, const std::vector<Short>& known) {
    Short all;
    for (const uint32_t child : node.children) {
      all.on = Either(all.on, known[child].on);
      all.off = Either(all.off, known[child].off);
    }
    return all;
  }

  Short OfRepeat(const Node& node, const Short& turn) {
    const uint64_t least = static_cast<uint64_t>(node.min);
    const uint64_t most = node.max == kNoMax ? kUnbounded : static_cast<uint64_t>(node.max);
    if (most == 0) return {Empty(), {}};
    // A turn that may itself be too long: only the first is looked at.
    if (turn.off.any || !turn.on.any) {
      return {least == 0 ? Empty() : Part(), Either(turn.off, turn.on)};
    }
    const uint64_t width = std::max<uint64_t>(1, turn.on.width.max);
    if (least > limit_ / width) {
      return {{}, Repeated(turn.on, limit_ / width, limit_ / width)};
    }
    const uint64_t on =
        std::min(most, least + std::min(kSlackBytes, limit_ - least * width) / width);
    Short result{Repeated(turn.on, least, on), {}};
    if (on < most) {
      const uint64_t off = (on + 1) * width <= limit_ ? on + 1 : on;
      result.off = Repeated(turn.on, off, off);
    }
    return result;
  }

  Ast& ast_;
  uint64_t limit_;
};

class Printer {
 public:
  explicit Printer(const Ast& ast) : ast_(ast) {}

  // False if it became too long or too deep.
  bool Print(uint32_t id, int depth) {
    const Node& node = ast_.nodes[id];
    if (depth > kMaxDepth || out_.size() > kMaxPatternBytes) return false;
    switch (node.kind) {
      case NodeKind::kEmpty:
        out_ += "(?:)";
        return true;
      case NodeKind::kClass:
        PrintClass(node.set);
        return true;
      case NodeKind::kAssert:
        out_ += Spelled(node.assertion);
        return true;
      case NodeKind::kRepeat: {
        out_ += "(?:";
        if (!Print(node.children[0], depth + 1)) return false;
        // Lazy: the shortest answer is answer enough.
        out_ += "){" + std::to_string(node.min) + "," + std::to_string(node.max) + "}?";
        return true;
      }
      case NodeKind::kCat:
      case NodeKind::kAlt:
        break;
    }
    out_ += "(?:";
    for (size_t i = 0; i < node.children.size(); ++i) {
      if (i > 0 && node.kind == NodeKind::kAlt) out_ += '|';
      if (!Print(node.children[i], depth + 1)) return false;
    }
    out_ += ')';
    return true;
  }

  std::string Take() { return std::move(out_); }

 private:
  static const char* Spelled(Assertion assertion) {
    switch (assertion) {
      case Assertion::kTextStart:
        return "\\A";
      case Assertion::kTextEnd:
        return "\\z";
      case Assertion::kLineStart:
        return "(?m:^)";
      case Assertion::kLineEnd:
        return "(?m:$)";
      case Assertion::kWordBoundary:
        return "\\b";
      case Assertion::kNotWordBoundary:
        return "\\B";
    }
    return "";
  }

  void PrintClass(const ByteSet& set) {
    out_ += set.none() ? "[^\\x00-\\xff" : "[";
    for (int first = 0; first < 256; ++first) {
      if (!set[first]) continue;
      int last = first;
      while (last < 255 && set[last + 1]) ++last;
      char range[16];
      std::snprintf(range, sizeof(range), first == last ? "\\x%02x" : "\\x%02x-\\x%02x", first,
                    last);
      out_ += range;
      first = last;
    }
    // RE2 20220601 loses matches in Latin-1 where branches share a first literal above 0x7F: it
    // looks for the literal's UTF-8 form. With a character that Latin-1 lacks it stays a class.
    if (set.count() == 1 && (set >> 128).any()) out_ += "\\x{100}";
    out_ += ']';
  }

  const Ast& ast_;
  std::string out_;
};

}  // namespace

std::optional<Prefix> BoundedPrefix(Ast ast, uint32_t root, uint64_t limit) {
  const Part result = Shortener(&ast, limit).Of(root);
  if (!result.any || result.width.min == 0) return std::nullopt;
  Printer printer(ast);
  if (!printer.Print(result.id, 0)) return std::nullopt;
  return Prefix{printer.Take(), result.width.max};
}

}  // namespace keysieve::detect::regex
