// SPDX-License-Identifier: MIT
// Positions as vector<bool>; repeats run until no new position turns up.
#include "tests/daemon/regex/set_matcher.h"

#include <vector>

namespace keysieve::detect::regex {
namespace {

using Positions = std::vector<bool>;

bool IsWord(std::string_view text, size_t i) {
  if (i >= text.size()) return false;
  const char c = text[i];
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool Holds(Assertion assertion, std::string_view text, size_t i) {
  const bool boundary = (i > 0 && IsWord(text, i - 1)) != IsWord(text, i);
  switch (assertion) {
    case Assertion::kTextStart:
      return i == 0;
    case Assertion::kTextEnd:
      return i == text.size();
    case Assertion::kLineStart:
      return i == 0 || text[i - 1] == '\n';
    case Assertion::kLineEnd:
      return i == text.size() || text[i] == '\n';
    case Assertion::kWordBoundary:
      return boundary;
    case Assertion::kNotWordBoundary:
      return !boundary;
  }
  return false;
}

bool AddAll(const Positions& from, Positions* to) {
  bool grew = false;
  for (size_t i = 0; i < from.size(); ++i) {
    if (!from[i] || (*to)[i]) continue;
    (*to)[i] = true;
    grew = true;
  }
  return grew;
}

Positions Ends(const Ast& ast, uint32_t id, std::string_view text, const Positions& starts) {
  const Node& node = ast.nodes[id];
  Positions ends(text.size() + 1);
  switch (node.kind) {
    case NodeKind::kEmpty:
      return starts;
    case NodeKind::kClass:
      for (size_t i = 0; i < text.size(); ++i) {
        if (starts[i] && node.set[static_cast<uint8_t>(text[i])]) ends[i + 1] = true;
      }
      return ends;
    case NodeKind::kAssert:
      for (size_t i = 0; i <= text.size(); ++i) {
        ends[i] = starts[i] && Holds(node.assertion, text, i);
      }
      return ends;
    case NodeKind::kCat:
      ends = starts;
      for (const uint32_t child : node.children) ends = Ends(ast, child, text, ends);
      return ends;
    case NodeKind::kAlt:
      for (const uint32_t child : node.children) AddAll(Ends(ast, child, text, starts), &ends);
      return ends;
    case NodeKind::kRepeat:
      break;
  }
  Positions current = starts;
  for (int i = 0; i < node.min; ++i) current = Ends(ast, node.children[0], text, current);
  ends = current;
  for (int i = node.min; node.max == kNoMax || i < node.max; ++i) {
    current = Ends(ast, node.children[0], text, current);
    if (!AddAll(current, &ends)) break;
  }
  return ends;
}

}  // namespace

std::optional<std::pair<size_t, size_t>> LeftmostLongest(const Ast& ast, std::string_view text) {
  for (size_t start = 0; start <= text.size(); ++start) {
    Positions starts(text.size() + 1);
    starts[start] = true;
    const Positions ends = Ends(ast, ast.root, text, starts);
    for (size_t end = text.size() + 1; end-- > start;) {
      if (ends[end]) return std::make_pair(start, end);
    }
  }
  return std::nullopt;
}

}  // namespace keysieve::detect::regex
