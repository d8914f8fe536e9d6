// SPDX-License-Identifier: MIT
// Escapes and classes as RE2 reads them in Latin-1. A negated group is the complement of the folded
// group, not the fold of the complement: (?i)[[:^upper:]] takes no letter at all.
#include "daemon/detect/regex/parse_class.h"

#include <cctype>
#include <string>

#include "evidence/base/status.h"

namespace keysieve::detect::regex {
namespace {

bool IsAsciiAlnum(uint8_t c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

int HexDigit(uint8_t c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

void AddRange(ByteSet* set, int low, int high) {
  for (int c = low; c <= high; ++c) set->set(static_cast<size_t>(c));
}

// The class named between "[:" and ":]", without its '^'.
bool PosixClass(std::string_view name, ByteSet* set) {
  struct Row {
    std::string_view name;
    std::string_view ranges;  // pairs of first and last byte
  };
  static constexpr Row kRows[] = {
      {"alnum", "09AZaz"},
      {"alpha", "AZaz"},
      {"ascii", {"\x00\x7F", 2}},
      {"blank", "\t\t  "},
      {"cntrl", {"\x00\x1F\x7F\x7F", 4}},
      {"digit", "09"},
      {"graph", "!~"},
      {"lower", "az"},
      {"print", " ~"},
      {"punct", "!/:@[`{~"},
      {"space", "\t\r  "},
      {"upper", "AZ"},
      {"word", "09AZaz__"},
      {"xdigit", "09AFaf"},
  };
  for (const Row& row : kRows) {
    if (row.name != name) continue;
    for (size_t i = 0; i < row.ranges.size(); i += 2) {
      AddRange(set, static_cast<uint8_t>(row.ranges[i]), static_cast<uint8_t>(row.ranges[i + 1]));
    }
    return true;
  }
  return false;
}

// \x41 or \x{41}; `*position` stands behind the x.
absl::StatusOr<uint8_t> ParseHex(std::string_view pattern, size_t* position) {
  const size_t start = *position;
  auto digit_at = [&](size_t i) { return i < pattern.size() ? HexDigit(pattern[i]) : -1; };
  if (start < pattern.size() && pattern[start] == '{') {
    size_t i = start + 1;
    uint32_t value = 0;
    for (; digit_at(i) >= 0; ++i) {
      value = value * 16 + static_cast<uint32_t>(digit_at(i));
      if (value > 0xFF) return ParseError(start, "a character above 0xFF needs UTF-8");
    }
    if (i == start + 1 || i >= pattern.size() || pattern[i] != '}') {
      return ParseError(start, "\\x{...} holds hexadecimal digits");
    }
    *position = i + 1;
    return static_cast<uint8_t>(value);
  }
  if (digit_at(start) < 0 || digit_at(start + 1) < 0) {
    return ParseError(start, "\\x takes two hexadecimal digits");
  }
  *position = start + 2;
  return static_cast<uint8_t>(digit_at(start) * 16 + digit_at(start + 1));
}

// \0, \01, \012 or \12; `*position` stands at the first digit. A lone \1 would be a back-reference.
absl::StatusOr<uint8_t> ParseOctal(std::string_view pattern, size_t* position) {
  const size_t start = *position;
  auto is_octal = [&](size_t i) {
    return i < pattern.size() && pattern[i] >= '0' && pattern[i] <= '7';
  };
  if (pattern[start] != '0' && !is_octal(start + 1)) {
    return ParseError(start, "back-references are not RE2 syntax");
  }
  uint32_t value = 0;
  size_t i = start;
  for (; i < start + 3 && is_octal(i); ++i) {
    value = value * 8 + static_cast<uint32_t>(pattern[i] - '0');
  }
  if (value > 0xFF) return ParseError(start, "a character above 0xFF needs UTF-8");
  *position = i;
  return static_cast<uint8_t>(value);
}

// Adds the [:name:], \d or \pX item at `*position`, if one stands there.
absl::StatusOr<bool> ParseNamedItem(std::string_view pattern, size_t* position, bool fold,
                                    ByteSet* set) {
  const std::string_view rest = pattern.substr(*position);
  ByteSet item;
  bool negated = false;
  size_t length = 0;
  if (rest.starts_with("[:") && rest.find(":]", 2) != std::string_view::npos) {
    std::string_view name = rest.substr(2, rest.find(":]", 2) - 2);
    length = name.size() + 4;
    negated = name.starts_with("^");
    if (negated) name.remove_prefix(1);
    if (!PosixClass(name, &item)) {
      return ParseError(*position, Cat("no POSIX class is named '", name, "'"));
    }
  } else if (rest.size() >= 2 && rest[0] == '\\' && (rest[1] == 'p' || rest[1] == 'P')) {
    return ParseError(*position, "a Unicode class (\\p) needs UTF-8");
  } else if (rest.size() >= 2 && rest[0] == '\\' && PerlClass(rest[1], &item)) {
    length = 2;  // \D and its like come out negated already; folding adds nothing to either
    *position += length;
    *set |= item;
    return true;
  } else {
    return false;
  }
  if (fold) item = FoldCase(item);
  *set |= negated ? ~item : item;
  *position += length;
  return true;
}

absl::StatusOr<uint8_t> ParseClassByte(std::string_view pattern, size_t* position) {
  if (pattern[*position] == '\\') return ParseEscapedByte(pattern, position);
  return static_cast<uint8_t>(pattern[(*position)++]);
}

// Adds the byte or the range at `*position`.
absl::Status ParseRange(std::string_view pattern, size_t* position, bool fold, ByteSet* set,
                        bool* non_ascii) {
  const size_t start = *position;
  KS_ASSIGN_OR_RETURN(const uint8_t low, ParseClassByte(pattern, position));
  uint8_t high = low;
  if (*position + 1 < pattern.size() && pattern[*position] == '-' &&
      pattern[*position + 1] != ']') {
    ++*position;
    KS_ASSIGN_OR_RETURN(high, ParseClassByte(pattern, position));
    if (high < low) return ParseError(start, "a range's end stands before its start");
  }
  if (high >= 0x80) *non_ascii = true;
  ByteSet item;
  AddRange(&item, low, high);
  *set |= fold ? FoldCase(item) : item;
  return absl::OkStatus();
}

}  // namespace

absl::Status ParseError(size_t position, std::string_view what) {
  return absl::InvalidArgumentError(Cat("regex: byte ", position, ": ", what));
}

ByteSet FoldCase(const ByteSet& set) {
  ByteSet folded = set;
  auto fold_pair = [&](size_t upper) {
    if (set[upper] || set[upper + 0x20]) folded.set(upper).set(upper + 0x20);
  };
  for (size_t c = 'A'; c <= 'Z'; ++c) fold_pair(c);
  for (size_t c = 0xC0; c <= 0xDE; ++c) {
    if (c != 0xD7) fold_pair(c);  // the signs for times and divided by
  }
  return folded;
}

ByteSet OneByte(uint8_t byte, bool fold) {
  ByteSet set;
  set.set(byte);
  return fold ? FoldCase(set) : set;
}

bool PerlClass(char letter, ByteSet* set) {
  ByteSet item;
  switch (letter) {
    case 'd':
    case 'D':
      PosixClass("digit", &item);
      break;
    case 's':
    case 'S':
      for (char c : {' ', '\t', '\n', '\f', '\r'}) item.set(static_cast<uint8_t>(c));
      break;
    case 'w':
    case 'W':
      PosixClass("word", &item);
      break;
    default:
      return false;
  }
  *set = letter < 'a' ? ~item : item;
  return true;
}

absl::StatusOr<uint8_t> ParseEscapedByte(std::string_view pattern, size_t* position) {
  const size_t start = *position;
  if (start + 1 >= pattern.size()) return ParseError(start, "a backslash ends the pattern");
  const uint8_t c = pattern[start + 1];
  *position = start + 2;
  switch (c) {
    case 'a':
      return '\a';
    case 'f':
      return '\f';
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    case 'v':
      return '\v';
    case 'x':
      return ParseHex(pattern, position);
    default:
      break;
  }
  if (c >= '0' && c <= '7') {
    *position = start + 1;
    return ParseOctal(pattern, position);
  }
  if (c == 'p' || c == 'P') return ParseError(start, "a Unicode class (\\p) needs UTF-8");
  if (c >= 0x80 || IsAsciiAlnum(c)) return ParseError(start, "an unknown escape");
  return c;
}

absl::StatusOr<ByteSet> ParseBracket(std::string_view pattern, size_t* position, bool fold,
                                     bool* non_ascii) {
  const size_t start = (*position)++;
  bool negated = false;
  if (*position < pattern.size() && pattern[*position] == '^') {
    negated = true;
    ++*position;
  }
  ByteSet set;
  for (bool first = true;; first = false) {
    if (*position >= pattern.size()) return ParseError(start, "a '[' without its ']'");
    if (pattern[*position] == ']' && !first) break;
    KS_ASSIGN_OR_RETURN(const bool named, ParseNamedItem(pattern, position, fold, &set));
    if (!named) KS_RETURN_IF_ERROR(ParseRange(pattern, position, fold, &set, non_ascii));
  }
  ++*position;
  return negated ? ~set : set;
}

}  // namespace keysieve::detect::regex
