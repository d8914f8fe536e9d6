// SPDX-License-Identifier: MIT
// Text in UTF-16: recognised by its byte order mark, or by what half of it being NUL looks like,
// and turned into UTF-8 with the way back to the bytes it came from.
//
//   if (auto order = DetectUtf16(bytes)) {
//     Utf16Text text = DecodeUtf16(bytes, *order);
//     text.ToBlob(offset);
//   }
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/detect/decode/layer.h"

namespace keysieve::detect::decode {

enum class ByteOrder : uint8_t { kLittle, kBig };

// "utf-16le", "utf-16be".
const char* ToString(ByteOrder order);

// Without a mark a text counts as UTF-16 if, of the units at its beginning (64 KiB), a quarter or
// more are printable ASCII in that order and next to none in the other, and none is NUL.
std::optional<ByteOrder> DetectUtf16(std::string_view bytes);

// Does the blob begin with the mark of UTF-32, which is not decoded?
bool IsUtf32(std::string_view bytes);

// Immutable once made.
class Utf16Text {
 public:
  std::string_view text() const { return text_; }  // UTF-8, without the mark
  // The blob's bytes that no character could be made of: from the first such unit's to the last
  // one's. They are U+FFFD in the text.
  std::optional<Range> broken() const { return broken_; }

  // Where the character that holds byte `offset` of text() begins in the blob; for text().size(),
  // where the last one ended.
  uint64_t ToBlob(uint64_t offset) const;
  Range ToBlob(Range range) const;

 private:
  friend Utf16Text DecodeUtf16(std::string_view bytes, ByteOrder order);

  std::string text_;
  std::vector<uint64_t> checkpoints_;  // blob offset of the first character of each kStep bytes
  std::vector<uint8_t> leads_;         // and how many bytes into the step it begins
  uint64_t end_ = 0;
  std::optional<Range> broken_;
};

Utf16Text DecodeUtf16(std::string_view bytes, ByteOrder order);

}  // namespace keysieve::detect::decode
