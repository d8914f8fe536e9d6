// SPDX-License-Identifier: MIT
// The way back is kept at every 64th byte only; between two of those the text is walked, since a
// character's length in UTF-8 tells its length in UTF-16.
#include "daemon/detect/decode/utf16.h"

#include <algorithm>

#include "daemon/detect/decode/decoders.h"

namespace keysieve::detect::decode {
namespace {

constexpr uint64_t kStep = 64;
constexpr size_t kLookedAt = 64 << 10;  // bytes at a blob's beginning
constexpr size_t kFewestUnits = 8;

uint32_t UnitAt(std::string_view bytes, size_t at, ByteOrder order) {
  const auto first = static_cast<uint8_t>(bytes[at]);
  const auto second = static_cast<uint8_t>(bytes[at + 1]);
  return order == ByteOrder::kLittle ? second << 8 | first : first << 8 | second;
}

bool IsHigh(uint32_t unit) { return unit >= 0xD800 && unit < 0xDC00; }
bool IsLow(uint32_t unit) { return unit >= 0xDC00 && unit < 0xE000; }

// Bytes of the character whose first byte this is.
uint64_t Utf8Length(uint8_t lead) {
  return lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
}

}  // namespace

const char* ToString(ByteOrder order) {
  return order == ByteOrder::kLittle ? "utf-16le" : "utf-16be";
}

bool IsUtf32(std::string_view bytes) {
  using namespace std::string_view_literals;
  return bytes.starts_with("\xFF\xFE\0\0"sv) || bytes.starts_with("\0\0\xFE\xFF"sv);
}

std::optional<ByteOrder> DetectUtf16(std::string_view bytes) {
  if (IsUtf32(bytes)) return std::nullopt;
  if (bytes.starts_with("\xFF\xFE")) return ByteOrder::kLittle;
  if (bytes.starts_with("\xFE\xFF")) return ByteOrder::kBig;
  bytes = bytes.substr(0, kLookedAt);
  const size_t units = bytes.size() / 2;
  if (units < kFewestUnits) return std::nullopt;
  if (bytes.find('\0') == std::string_view::npos) return std::nullopt;
  size_t little = 0;
  size_t big = 0;
  for (size_t at = 0; at + 1 < bytes.size(); at += 2) {
    const auto first = static_cast<uint8_t>(bytes[at]);
    const auto second = static_cast<uint8_t>(bytes[at + 1]);
    if (first == 0 && second == 0) return std::nullopt;
    little += second == 0 && IsPrintable(first);
    big += first == 0 && IsPrintable(second);
  }
  if (little * 4 >= units && big * 16 <= little) return ByteOrder::kLittle;
  if (big * 4 >= units && little * 16 <= big) return ByteOrder::kBig;
  return std::nullopt;
}

Utf16Text DecodeUtf16(std::string_view bytes, ByteOrder order) {
  Utf16Text out;
  out.text_.reserve(bytes.size() / 2 + 3);
  size_t at = bytes.size() >= 2 && UnitAt(bytes, 0, order) == 0xFEFF ? 2 : 0;
  while (at < bytes.size()) {
    // The step this character begins in may have begun inside the one before it.
    if (out.text_.size() / kStep >= out.checkpoints_.size()) {
      out.leads_.push_back(static_cast<uint8_t>(out.text_.size() % kStep));
      out.checkpoints_.push_back(at);
    }
    size_t length = std::min<size_t>(2, bytes.size() - at);
    uint32_t character = length == 2 ? UnitAt(bytes, at, order) : 0xFFFD;
    bool broken = length < 2 || IsLow(character);
    if (IsHigh(character)) {
      const uint32_t low = at + 4 <= bytes.size() ? UnitAt(bytes, at + 2, order) : 0;
      broken = !IsLow(low);
      if (!broken) {
        character = 0x10000 + ((character - 0xD800) << 10) + (low - 0xDC00);
        length = 4;
      }
    }
    if (broken) {
      character = 0xFFFD;
      if (!out.broken_) out.broken_ = Range{at, at};
      out.broken_->end = at + length;
    }
    AppendUtf8(character, &out.text_);
    at += length;
  }
  out.end_ = bytes.size();
  return out;
}

uint64_t Utf16Text::ToBlob(uint64_t offset) const {
  if (offset >= text_.size()) return end_;
  uint64_t step = offset / kStep;
  // Inside a character that reaches into this step?
  if (step == leads_.size() || offset % kStep < leads_[step]) --step;
  uint64_t at = step * kStep + leads_[step];
  uint64_t blob = checkpoints_[step];
  for (;;) {
    const uint64_t length = Utf8Length(static_cast<uint8_t>(text_[at]));
    if (offset < at + length) return blob;
    at += length;
    blob += length == 4 ? 4 : 2;
  }
}

Range Utf16Text::ToBlob(Range range) const {
  const uint64_t start = ToBlob(range.start);
  if (range.end <= range.start) return {start, start};
  uint64_t after = range.end;  // of the character that holds the last byte
  while (after < text_.size() && (text_[after] & 0xC0) == 0x80) ++after;
  return {start, ToBlob(after)};
}

}  // namespace keysieve::detect::decode
