// SPDX-License-Identifier: MIT
// Base64 gives up at the first byte that is no text: nearly all that looks like base64 in source
// code is a long name, and those fail within the first few bytes.
#include "daemon/detect/decode/decoders.h"

#include <array>

namespace keysieve::detect::decode {
namespace {

constexpr int8_t kNone = -1;

constexpr std::array<int8_t, 256> MakeHexValues() {
  std::array<int8_t, 256> values{};
  for (int8_t& value : values) value = kNone;
  for (int i = 0; i < 10; ++i) values['0' + i] = static_cast<int8_t>(i);
  for (int i = 0; i < 6; ++i) {
    values['a' + i] = static_cast<int8_t>(10 + i);
    values['A' + i] = static_cast<int8_t>(10 + i);
  }
  return values;
}

// '+' and '-' are the same digit, and so are '/' and '_': which alphabet it is, is asked apart.
constexpr std::array<int8_t, 256> MakeBase64Values() {
  std::array<int8_t, 256> values{};
  for (int8_t& value : values) value = kNone;
  for (int i = 0; i < 26; ++i) {
    values['A' + i] = static_cast<int8_t>(i);
    values['a' + i] = static_cast<int8_t>(26 + i);
  }
  for (int i = 0; i < 10; ++i) values['0' + i] = static_cast<int8_t>(52 + i);
  values['+'] = values['-'] = 62;
  values['/'] = values['_'] = 63;
  return values;
}

constexpr auto kHexValues = MakeHexValues();
constexpr auto kBase64Values = MakeBase64Values();

int HexValue(char c) { return kHexValues[static_cast<uint8_t>(c)]; }

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// What distinguishes base64 from a long word: letters alone are taken for one.
bool LooksLikeBase64(std::string_view text) {
  bool standard = false;
  bool url = false;
  bool digit = false;
  for (char c : text) {
    standard |= c == '+' || c == '/';
    url |= c == '-' || c == '_';
    digit |= IsDigit(c);
  }
  return (standard || url || digit) && !(standard && url);
}

uint32_t HexQuad(std::string_view text, size_t at) {
  uint32_t value = 0;
  for (size_t i = at; i < at + 4; ++i)
    value = value << 4 | static_cast<uint32_t>(HexValue(text[i]));
  return value;
}

}  // namespace

bool DecodeHex(std::string_view digits, std::string* out) {
  out->clear();
  if (digits.size() % 2 != 0) return false;
  bool digit = false;
  for (size_t i = 0; i < digits.size(); i += 2) {
    const int high = HexValue(digits[i]);
    const int low = HexValue(digits[i + 1]);
    if (high < 0 || low < 0) return false;
    const auto byte = static_cast<uint8_t>(high << 4 | low);
    if (!IsPrintable(byte)) return false;
    digit |= IsDigit(digits[i]) || IsDigit(digits[i + 1]);
    out->push_back(static_cast<char>(byte));
  }
  return digit;  // without any it is a word
}

bool DecodeBase64(std::string_view text, std::string* out) {
  out->clear();
  const size_t whole = text.size();
  while (!text.empty() && text.back() == '=') text.remove_suffix(1);
  const bool padded = text.size() != whole;
  if (padded ? whole % 4 != 0 : text.size() % 4 == 1) return false;
  uint32_t bits = 0;
  int held = 0;
  for (char c : text) {
    const int8_t value = kBase64Values[static_cast<uint8_t>(c)];
    if (value == kNone) return false;
    bits = bits << 6 | static_cast<uint32_t>(value);
    held += 6;
    if (held < 8) continue;
    held -= 8;
    const auto byte = static_cast<uint8_t>(bits >> held);
    if (!IsPrintable(byte)) return false;
    out->push_back(static_cast<char>(byte));
  }
  return !out->empty() && LooksLikeBase64(text);
}

bool DecodeUnicode(std::string_view escapes, std::string* out) {
  out->clear();
  uint32_t high = 0;  // a surrogate that waits for its other half
  for (size_t at = 0; at + 4 <= escapes.size();) {
    const char c = escapes[at];
    if ((c | 0x20) != 'u') {  // a backslash, or white space between U+ forms
      ++at;
      continue;
    }
    at += escapes[at + 1] == '+' ? 2 : 1;
    const uint32_t unit = HexQuad(escapes, at);
    at += 4;
    if (high != 0 && unit >= 0xDC00 && unit < 0xE000) {
      AppendUtf8(0x10000 + ((high - 0xD800) << 10) + (unit - 0xDC00), out);
      high = 0;
      continue;
    }
    if (high != 0) AppendUtf8(0xFFFD, out);
    high = unit >= 0xD800 && unit < 0xDC00 ? unit : 0;
    if (high == 0) AppendUtf8(unit >= 0xDC00 && unit < 0xE000 ? 0xFFFD : unit, out);
  }
  if (high != 0) AppendUtf8(0xFFFD, out);
  return !out->empty();
}

int DecodePercent(std::string_view text) {
  if (text.size() < 3 || text[0] != '%') return -1;
  const int high = HexValue(text[1]);
  const int low = HexValue(text[2]);
  if (high < 0 || low < 0) return -1;
  const int byte = high << 4 | low;
  return IsPrintable(static_cast<uint8_t>(byte)) ? byte : -1;
}

void AppendUtf8(uint32_t code_point, std::string* out) {
  const auto tail = [&](int shift) {
    out->push_back(static_cast<char>(0x80 | (code_point >> shift & 0x3F)));
  };
  if (code_point < 0x80) {
    out->push_back(static_cast<char>(code_point));
  } else if (code_point < 0x800) {
    out->push_back(static_cast<char>(0xC0 | code_point >> 6));
    tail(0);
  } else if (code_point < 0x10000) {
    out->push_back(static_cast<char>(0xE0 | code_point >> 12));
    tail(6);
    tail(0);
  } else {
    out->push_back(static_cast<char>(0xF0 | code_point >> 18));
    tail(12);
    tail(6);
    tail(0);
  }
}

}  // namespace keysieve::detect::decode
