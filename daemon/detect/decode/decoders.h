// SPDX-License-Identifier: MIT
// Turns one encoded stretch into the bytes it stands for. Each decoder takes the stretch whole or
// not at all, and only what decodes to printable ASCII (and tab, line ends and their like) counts:
// anything else was no text, and looking like an encoding proves little.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace keysieve::detect::decode {

// From 9 (tab) to 126.
inline bool IsPrintable(uint8_t byte) { return byte > 8 && byte < 127; }

// Each writes what it decoded to `out`, which it clears first. False, and `out` means nothing, if
// the stretch is not what it looks like. Never more bytes than the stretch has.
bool DecodeHex(std::string_view digits, std::string* out);

// Both alphabets, not mixed, padded or not. Without a digit or one of +/-_ it is taken for a word.
bool DecodeBase64(std::string_view text, std::string* out);

// A row of \uXXXX, or of U+XXXX with white space between them, to UTF-8. Surrogates pair up, alone
// they become U+FFFD. These may decode to any character.
bool DecodeUnicode(std::string_view escapes, std::string* out);

// The byte that the escape %XX at the start of `text` means; -1 if it is none, or not printable.
int DecodePercent(std::string_view text);

// Appends a code point in UTF-8.
void AppendUtf8(uint32_t code_point, std::string* out);

}  // namespace keysieve::detect::decode
