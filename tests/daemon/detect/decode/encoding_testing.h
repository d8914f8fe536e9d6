// SPDX-License-Identifier: MIT
// Encoders of the plainest kind, written apart from the decoders they judge.
#pragma once

#include <cstdint>
#include <cstdio>
#include <random>
#include <string>
#include <string_view>

namespace keysieve::detect::decode {

inline std::string Hex(std::string_view text, const char* format = "%02x") {
  std::string out;
  for (unsigned char c : text) {
    char digits[8];
    std::snprintf(digits, sizeof digits, format, c);
    out += digits;
  }
  return out;
}

inline std::string Percent(std::string_view text) { return Hex(text, "%%%02X"); }
inline std::string Escapes(std::string_view text) { return Hex(text, "\\u%04x"); }

inline std::string Base64(std::string_view text, bool url = false, bool pad = true) {
  const std::string alphabet =
      std::string("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789") +
      (url ? "-_" : "+/");
  std::string bits;
  for (unsigned char c : text) {
    for (int bit = 7; bit >= 0; --bit) bits += (c >> bit & 1) != 0 ? '1' : '0';
  }
  while (bits.size() % 6 != 0) bits += '0';
  std::string out;
  for (size_t i = 0; i < bits.size(); i += 6) {
    out += alphabet[std::stoul(bits.substr(i, 6), nullptr, 2)];
  }
  while (pad && out.size() % 4 != 0) out += '=';
  return out;
}

// ASCII only.
inline std::string Utf16(std::string_view ascii, bool little) {
  std::string out;
  for (char c : ascii) {
    if (!little) out += '\0';
    out += c;
    if (little) out += '\0';
  }
  return out;
}

template <typename Random>
std::string RandomText(std::string_view alphabet, size_t length, Random* random) {
  std::string out;
  for (size_t i = 0; i < length; ++i) out += alphabet[(*random)() % alphabet.size()];
  return out;
}

}  // namespace keysieve::detect::decode
