// SPDX-License-Identifier: MIT
// Grammar-driven generation over the bytes abcAB01_ plus a few that assertions care about.
#include "tests/daemon/regex/random_regex.h"

#include <algorithm>
#include <iterator>

namespace keysieve::detect::regex {

char RandomRegex::Byte() {
  static constexpr char kBytes[] = {'a', 'b', 'c', 'a',  'b', 'A', 'B',    '0',    '1',
                                    '_', ' ', '-', '\n', 'z', 'k', '\xE9', '\xC9', '\xC3'};
  const size_t used = options_.syntax_zoo ? std::size(kBytes) : std::size(kBytes) - 3;
  // Mostly the first five: matches must be common.
  return kBytes[Below(3) != 0 ? Below(5) : Below(used)];
}

std::string RandomRegex::Word() {
  std::string word;
  for (uint64_t n = 2 + Below(4); n > 0; --n) word += Byte();
  return word;
}

std::string RandomRegex::Alternation(int depth) {
  std::string out = Sequence(depth);
  for (uint64_t n = Below(4) == 0 ? 1 + Below(3) : 0; n > 0; --n) out += "|" + Sequence(depth);
  return out;
}

std::string RandomRegex::Sequence(int depth) {
  std::string out;
  for (uint64_t n = Below(8) == 0 ? 0 : 1 + Below(4); n > 0; --n) {
    out += Atom(depth);
    if (Below(3) == 0) out += Operator();
  }
  return out;
}

std::string RandomRegex::Operator() {
  static constexpr const char* kOperators[] = {"*",     "+",    "?",     "{2}",   "{0,2}",
                                               "{1,3}", "{2,}", "{0}",   "{0,1}", "{1,}",
                                               "{3,5}", "{4}",  "{0,9}", "{1,12}"};
  std::string out = kOperators[Below(std::size(kOperators))];
  if (Below(4) == 0) out += "?";
  return out;
}

std::string RandomRegex::Class() {
  static constexpr const char* kClasses[] = {
      "[ab]",   "[^a]",         "[a-c]",       "\\d",           "\\w",           "\\s",
      "\\W",    "[^\\d]",       "[[:alpha:]]", "[[:^upper:]]",  "[^[:^upper:]]", "[]a]",
      "[^]a]",  "[a-]",         "[-a]",        "\\D",           "\\S",           "[\\w-]",
      "[A-B0]", "[^[:space:]]", "[a\\-b]",     "[\\x61-\\x63]", "[[:punct:]]",   ".",
      "[^\\n]", "[\\n ]",       "[aA]",        "[bB][01]",      "[[:a]",         "[a-b-c]"};
  return kClasses[Below(std::size(kClasses))];
}

std::string RandomRegex::Zoo(int depth) {
  switch (Below(15)) {
    case 0:
      return "(?i)a";
    case 1:
      return "(?i:" + Alternation(depth - 1) + ")";
    case 2:
      return "(?s:.)";
    case 3:
      return "(?U:" + Alternation(depth - 1) + ")";
    case 4:
      return "(?m:^" + Sequence(depth - 1) + ")";
    case 5:
      return "(?m:" + Sequence(depth - 1) + "$)";
    case 6:
      return "\\Qab.*\\E";
    case 7:
      return "\\x61";
    case 8:
      return "\\x{62}";
    case 9:
      return "\\C";
    case 10:
      return "(?i-s:" + Sequence(depth - 1) + "\xE9)";
    case 11:
      return "(?i)[\xC0-\xFF]";
    case 12:
      return "(?ms)\\012";
    case 13:
      return "(?i:[^\xE9k])";
    default:
      return "(?P<name_" + std::to_string(Below(1000000)) + ">" + Alternation(depth - 1) + ")";
  }
}

std::string RandomRegex::Atom(int depth) {
  static constexpr const char* kAssertions[] = {"^", "$", "\\b", "\\B", "\\A", "\\z"};
  if (depth > 0 && options_.syntax_zoo && Below(6) == 0) return Zoo(depth);
  switch (Below(depth > 0 ? 9 : 6)) {
    case 0:
    case 1:
      return Class();
    case 2:
      return Below(3) == 0 ? kAssertions[Below(std::size(kAssertions))] : std::string(1, Byte());
    case 3:
      return Word();
    case 4:
    case 5:
      return std::string(1, Byte());
    case 6:
      return "(?:" + Alternation(depth - 1) + ")";
    case 7:
      return "(" + Alternation(depth - 1) + ")";
    default:
      return "(?i:" + Word() + ")";
  }
}

void RandomRegex::Sample(const Ast& ast, uint32_t id, std::string* out) {
  const Node& node = ast.nodes[id];
  if (out->size() > 200) return;
  switch (node.kind) {
    case NodeKind::kEmpty:
    case NodeKind::kAssert:
      return;
    case NodeKind::kClass:
      for (int tries = 0; tries < 20; ++tries) {
        const char c = tries < 8 ? Byte() : static_cast<char>(Below(256));
        if (!node.set[static_cast<uint8_t>(c)]) continue;
        *out += c;
        return;
      }
      for (size_t c = 0; c < 256; ++c) {
        if (node.set[c]) return out->push_back(static_cast<char>(c));
      }
      return;
    case NodeKind::kCat:
      for (const uint32_t child : node.children) Sample(ast, child, out);
      return;
    case NodeKind::kAlt:
      return Sample(ast, node.children[Below(node.children.size())], out);
    case NodeKind::kRepeat:
      break;
  }
  const int most = node.max == kNoMax ? node.min + 4 : node.max;
  const int count = node.min + static_cast<int>(Below(static_cast<uint64_t>(most - node.min) + 1));
  for (int i = 0; i < std::min(count, 40); ++i) Sample(ast, node.children[0], out);
}

std::string RandomRegex::Text(const Ast& ast, size_t max_bytes) {
  const size_t size = Below(max_bytes + 1);
  std::string text;
  while (text.size() < size) {
    if (Below(3) == 0) {
      Sample(ast, ast.root, &text);
      if (Below(3) == 0 && !text.empty()) text.pop_back();
    }
    for (uint64_t n = Below(6); n > 0; --n) text += Byte();
    if (Below(8) == 0) text += '\n';
  }
  text.resize(std::min(text.size(), max_bytes));
  return text;
}

}  // namespace keysieve::detect::regex
