// SPDX-License-Identifier: MIT
// A recursive-descent parser. Its depth is bounded by the nesting that regex.cc lets through. It
// sees only patterns RE2 has accepted, so it need not tell good from bad, only known from unknown.
#include "daemon/detect/regex_syntax.h"

#include <cctype>
#include <utility>

#include "daemon/detect/byte_class.h"

namespace keysieve::detect {
namespace {

using Kind = SyntaxNode::Kind;

SyntaxNode Bytes(const ByteSet& set) { return {.kind = Kind::kBytes, .bytes = set}; }

SyntaxNode OneByte(unsigned char byte) { return Bytes(ByteRangeSet(byte, byte)); }

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  std::optional<SyntaxNode> Run() {
    SyntaxNode tree = Alternation();
    if (!known_ || at_ != text_.size()) return std::nullopt;
    return tree;
  }

 private:
  struct Flags {
    bool fold = false;    // (?i)
    bool dot_nl = false;  // (?s)
  };

  bool More() const { return known_ && at_ < text_.size(); }
  char Peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool Take(std::string_view wanted) {
    if (text_.compare(at_, wanted.size(), wanted) != 0) return false;
    at_ += wanted.size();
    return true;
  }
  SyntaxNode Unknown() {
    known_ = false;
    return {};
  }
  SyntaxNode Folded(const ByteSet& set) { return Bytes(flags_.fold ? FoldCase(set) : set); }

  SyntaxNode Alternation();
  SyntaxNode Concatenation();
  SyntaxNode Repeated(SyntaxNode atom);
  bool Counts(uint32_t* min, uint32_t* max);
  bool Number(size_t* at, uint32_t* out) const;
  SyntaxNode Atom();
  SyntaxNode Group();
  bool GroupFlags();  // true if a ':' follows, so that there is a body
  SyntaxNode Escape();
  SyntaxNode Quoted();
  int EscapedByte(char kind);
  int Hex();
  SyntaxNode Class();
  bool ClassItem(ByteSet* set);
  bool NamedClass(ByteSet* set);
  int ClassByte();

  std::string_view text_;
  size_t at_ = 0;
  Flags flags_;
  bool known_ = true;
};

SyntaxNode Parser::Alternation() {
  SyntaxNode out{.kind = Kind::kAlternate};
  do {
    out.children.push_back(Concatenation());
  } while (More() && Take("|"));
  return out.children.size() == 1 ? SyntaxNode(std::move(out.children[0])) : out;
}

SyntaxNode Parser::Concatenation() {
  SyntaxNode out{.kind = Kind::kConcat};
  while (More() && Peek() != '|' && Peek() != ')') {
    if (Take("\\Q")) {
      out.children.push_back(Quoted());
    } else {
      out.children.push_back(Repeated(Atom()));
    }
  }
  return out;
}

SyntaxNode Parser::Repeated(SyntaxNode atom) {
  uint32_t min = 0;
  uint32_t max = kUnbounded;
  if (!More()) return atom;
  if (Take("*")) {
  } else if (Take("+")) {
    min = 1;
  } else if (Take("?")) {
    max = 1;
  } else if (!Counts(&min, &max)) {
    return atom;
  }
  Take("?");  // lazy or not, the same bytes are possible
  SyntaxNode out{.kind = Kind::kRepeat, .min = min, .max = max};
  out.children.push_back(std::move(atom));
  return out;
}

bool Parser::Number(size_t* at, uint32_t* out) const {
  size_t digits = 0;
  *out = 0;
  while (*at < text_.size() && std::isdigit(static_cast<unsigned char>(text_[*at]))) {
    if (++digits > 4) return false;
    *out = *out * 10 + static_cast<uint32_t>(text_[(*at)++] - '0');
  }
  return digits > 0;
}

// {n}, {n,} or {n,m}; anything else is a brace that stands for itself.
bool Parser::Counts(uint32_t* min, uint32_t* max) {
  if (Peek() != '{') return false;
  size_t at = at_ + 1;
  if (!Number(&at, min)) return false;
  *max = *min;
  if (at < text_.size() && text_[at] == ',') {
    ++at;
    if (at < text_.size() && text_[at] == '}') {
      *max = kUnbounded;
    } else if (!Number(&at, max)) {
      return false;
    }
  }
  if (at >= text_.size() || text_[at] != '}') return false;
  at_ = at + 1;
  return true;
}

SyntaxNode Parser::Atom() {
  const char c = text_[at_++];
  switch (c) {
    case '(':
      return Group();
    case '[':
      return Class();
    case '.': {
      ByteSet all;
      all.set();
      if (!flags_.dot_nl) all.reset('\n');
      return Bytes(all);
    }
    case '^':
    case '$':
      return {};
    case '\\':
      return Escape();
    case '*':
    case '+':
    case '?':
      return Unknown();
    default:
      return static_cast<unsigned char>(c) < 0x80
                 ? Folded(
                       ByteRangeSet(static_cast<unsigned char>(c), static_cast<unsigned char>(c)))
                 : Unknown();
  }
}

SyntaxNode Parser::Group() {
  const Flags outer = flags_;
  if (Take("?P<")) {
    const size_t end = text_.find('>', at_);
    if (end == std::string_view::npos) return Unknown();
    at_ = end + 1;
  } else if (Take("?")) {
    if (!GroupFlags()) return {};  // flags for what follows
  }
  SyntaxNode body = Alternation();
  if (!Take(")")) return Unknown();
  flags_ = outer;
  return body;
}

bool Parser::GroupFlags() {
  bool on = true;
  while (More()) {
    const char c = text_[at_++];
    if (c == ':') return true;
    if (c == ')') return false;
    if (c == '-') {
      on = false;
    } else if (c == 'i') {
      flags_.fold = on;
    } else if (c == 's') {
      flags_.dot_nl = on;
    } else if (c != 'm' && c != 'U') {
      break;
    }
  }
  known_ = false;
  return false;
}

SyntaxNode Parser::Quoted() {
  SyntaxNode out{.kind = Kind::kConcat};
  size_t end = text_.find("\\E", at_);
  const bool closed = end != std::string_view::npos;
  if (!closed) end = text_.size();
  for (; at_ < end; ++at_) out.children.push_back(Folded(OneByte(text_[at_]).bytes));
  if (closed) at_ = end + 2;
  // A repetition after it would be of the last byte alone.
  if (More() && (Peek() == '*' || Peek() == '+' || Peek() == '?' || Peek() == '{')) {
    return Unknown();
  }
  return out;
}

SyntaxNode Parser::Escape() {
  if (!More()) return Unknown();
  const char kind = text_[at_++];
  switch (kind) {
    case 'b':
    case 'B':
    case 'A':
    case 'z':
      return {};
    case 'd':
    case 's':
    case 'w':
      return Bytes(PerlClass(kind));
    case 'D':
    case 'S':
    case 'W':
      return Bytes(~PerlClass(static_cast<char>(kind | 0x20)));
    default: {
      const int byte = EscapedByte(kind);
      return byte < 0 ? Unknown() : Folded(OneByte(static_cast<unsigned char>(byte)).bytes);
    }
  }
}

// The byte an escape stands for, or -1. `kind` has been taken.
int Parser::EscapedByte(char kind) {
  switch (kind) {
    case 'a':
      return 7;
    case 'f':
      return 12;
    case 't':
      return 9;
    case 'n':
      return 10;
    case 'r':
      return 13;
    case 'v':
      return 11;
    case 'x':
      return Hex();
    default:
      // Octal and all else with letters or digits is left to those who know.
      return std::ispunct(static_cast<unsigned char>(kind)) || kind == ' ' ? kind : -1;
  }
}

int Parser::Hex() {
  const bool braced = Take("{");
  int value = 0;
  int digits = 0;
  while (at_ < text_.size() && std::isxdigit(static_cast<unsigned char>(text_[at_])) &&
         digits < (braced ? 6 : 2)) {
    const char c = static_cast<char>(text_[at_++] | 0x20);
    value = value * 16 + (c >= 'a' ? c - 'a' + 10 : c - '0');
    ++digits;
  }
  if (digits == 0 || (braced ? !Take("}") : digits != 2)) return -1;
  return value < 0x80 ? value : -1;
}

SyntaxNode Parser::Class() {
  const bool negated = Take("^");
  ByteSet set;
  bool first = true;
  while (More() && (first || Peek() != ']')) {
    first = false;
    if (!ClassItem(&set)) return Unknown();
  }
  if (!Take("]")) return Unknown();
  if (flags_.fold) set = FoldCase(set);
  return Bytes(negated ? ~set : set);
}

bool Parser::ClassItem(ByteSet* set) {
  if (Peek() == '[' && text_.substr(at_, 2) == "[:") return NamedClass(set);
  if (Peek() == '\\' && at_ + 1 < text_.size()) {
    const char kind = text_[at_ + 1];
    if (kind == 'd' || kind == 's' || kind == 'w') {
      at_ += 2;
      *set |= PerlClass(kind);
      return true;
    }
    if (kind == 'D' || kind == 'S' || kind == 'W') {
      at_ += 2;
      *set |= ~PerlClass(static_cast<char>(kind | 0x20));
      return true;
    }
  }
  const int low = ClassByte();
  if (low < 0) return false;
  int high = low;
  if (Peek() == '-' && at_ + 1 < text_.size() && text_[at_ + 1] != ']') {
    ++at_;
    high = ClassByte();
    if (high < low) return false;
  }
  *set |= ByteRangeSet(static_cast<unsigned char>(low), static_cast<unsigned char>(high));
  return true;
}

bool Parser::NamedClass(ByteSet* set) {
  const size_t end = text_.find(":]", at_ + 2);
  if (end == std::string_view::npos) return false;
  const ByteSet named = PosixClass(text_.substr(at_ + 2, end - at_ - 2));
  if (named.none()) return false;  // negated or unknown
  *set |= named;
  at_ = end + 2;
  return true;
}

int Parser::ClassByte() {
  if (!More()) return -1;
  const char c = text_[at_++];
  if (c == '\\') return More() ? EscapedByte(text_[at_++]) : -1;
  return static_cast<unsigned char>(c) < 0x80 ? c : -1;
}

}  // namespace

std::optional<SyntaxNode> ParseSyntax(std::string_view pattern) { return Parser(pattern).Run(); }

}  // namespace keysieve::detect
