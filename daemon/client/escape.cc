// SPDX-License-Identifier: MIT
// One UTF-8 decoder that refuses overlong forms and surrogates serves both the check and the
// printing.
#include "daemon/client/escape.h"

#include <cstdint>

#include "evidence/base/status.h"

namespace keysieve::client {
namespace {

constexpr char kHex[] = "0123456789abcdef";

void AppendHex(unsigned char byte, std::string* out) {
  out->append("\\x");
  out->push_back(kHex[byte >> 4]);
  out->push_back(kHex[byte & 15]);
}

struct Rune {
  uint32_t code = 0;
  size_t length = 0;  // bytes; 0: not UTF-8 here
};

Rune DecodeRune(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC2 ? 2 : 0;
  if (length == 0 || lead > 0xF4 || text.size() < length) return {};
  uint32_t code = lead & (0xFF >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3F);
  }
  constexpr uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < kSmallest[length] || code > 0x10FFFF) return {};
  if (code >= 0xD800 && code <= 0xDFFF) return {};
  return {code, length};
}

// Controls, and the marks that make a terminal show text in another order than it has.
bool IsHostileToTerminals(uint32_t code) {
  return code < 0x20 || (code >= 0x7F && code < 0xA0) || code == 0x061C || code == 0x200E ||
         code == 0x200F || (code >= 0x2028 && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
}

int HexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

std::string EscapeForTerminal(std::string_view bytes) {
  std::string out;
  while (!bytes.empty()) {
    const Rune rune = DecodeRune(bytes);
    const size_t length = rune.length == 0 ? 1 : rune.length;
    if (rune.length == 0 || IsHostileToTerminals(rune.code)) {
      for (size_t i = 0; i < length; ++i) AppendHex(static_cast<unsigned char>(bytes[i]), &out);
    } else if (rune.code == '\\') {
      out.append("\\\\");
    } else {
      out.append(bytes.substr(0, length));
    }
    bytes.remove_prefix(length);
  }
  return out;
}

std::string EscapeLiteral(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\\') {
      out.append("\\\\");
    } else if (byte >= 0x20 && byte < 0x7F) {
      out.push_back(c);
    } else {
      AppendHex(byte, &out);
    }
  }
  return out;
}

absl::StatusOr<std::string> Unescape(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      out.push_back(text[i]);
      continue;
    }
    if (i + 1 < text.size() && text[i + 1] == '\\') {
      out.push_back('\\');
      i += 1;
      continue;
    }
    const bool hex = i + 3 < text.size() && text[i + 1] == 'x' && HexValue(text[i + 2]) >= 0 &&
                     HexValue(text[i + 3]) >= 0;
    if (!hex) {
      return absl::InvalidArgumentError(
          Cat("column ", i + 1, ": a backslash begins \\\\ or \\x and two hexadecimal digits"));
    }
    out.push_back(static_cast<char>(HexValue(text[i + 2]) * 16 + HexValue(text[i + 3])));
    i += 3;
  }
  return out;
}

bool IsUtf8(std::string_view bytes) {
  while (!bytes.empty()) {
    const Rune rune = DecodeRune(bytes);
    if (rune.length == 0) return false;
    bytes.remove_prefix(rune.length);
  }
  return true;
}

std::string Base64(std::string_view bytes) {
  constexpr char kAlphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t n = bytes.size() - i < 3 ? bytes.size() - i : 3;
    uint32_t word = 0;
    for (size_t k = 0; k < 3; ++k) {
      word = word << 8 | (k < n ? static_cast<unsigned char>(bytes[i + k]) : 0);
    }
    for (size_t k = 0; k < 4; ++k) {
      out.push_back(k <= n ? kAlphabet[word >> (18 - 6 * k) & 63] : '=');
    }
  }
  return out;
}

}  // namespace keysieve::client
