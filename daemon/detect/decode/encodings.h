// SPDX-License-Identifier: MIT
// Finds what in a text looks encoded, in one cheap pass that decodes nothing: percent escapes,
// unicode escapes, runs of hexadecimal and of base64. Whether a stretch really is what it looks
// like is for the decoders to say.
//
//   StretchFinder finder(text);
//   for (Stretch s; finder.Next(&s);) Try(s);
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace keysieve::detect::decode {

// In falling precedence: where two stretches touch, the lower one waits for the next pass, since
// its neighbour may turn out to be a part of it.
enum class Encoding : uint8_t { kPercent, kUnicode, kHex, kBase64 };

inline constexpr size_t kEncodings = 4;

// "percent", "unicode", "hex", "base64".
const char* ToString(Encoding encoding);

inline constexpr uint64_t kMinHexDigits = 32;
inline constexpr uint64_t kMinBase64Characters = 16;

// Bytes [start, end) of the text. A percent stretch reaches from a line's first escape to its last
// and has plain text between them.
struct Stretch {
  uint64_t start = 0;
  uint64_t end = 0;
  Encoding encoding = Encoding::kPercent;
};

// Leftmost first, not overlapping. Time is linear in the text whatever it holds. Borrows the text.
class StretchFinder {
 public:
  explicit StretchFinder(std::string_view text) : text_(text) {}

  // False at the end. Stretches that touch one of higher precedence are passed over.
  bool Next(Stretch* stretch);

 private:
  bool NextMatch(Stretch* stretch);
  void FindPercent();
  void FindEscape();
  void FindCodePoint();
  void FindRun();

  std::string_view text_;
  uint64_t at_ = 0;
  // The next one of each kind at or after at_; an end of 0 means unknown, a start at the text's
  // size that there is none.
  Stretch percent_, escape_, code_point_, run_;
  Stretch ahead_;  // read already, when has_ahead_
  Stretch last_;   // the match before the one in question, when has_last_
  bool has_ahead_ = false;
  bool has_last_ = false;
};

}  // namespace keysieve::detect::decode
