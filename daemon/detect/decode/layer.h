// SPDX-License-Identifier: MIT
// One pass of decoding: a text with its encoded stretches replaced by what they stand for, and the
// way back from every byte of it. Stretches stay among the text round them, so that a rule may
// match across their edges, as in `token = c2VjcmV0`.
//
//   std::optional<Layer> layer = DecodeLayer(text);
//   if (layer) Scan(layer->text());
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/detect/decode/encodings.h"

namespace keysieve::detect::decode {

// More than any text needs, and what bounds a layer's memory. Text after it stays encoded.
inline constexpr size_t kMaxSegments = 1 << 20;

struct Range {
  uint64_t start = 0;  // bytes, half open
  uint64_t end = 0;
};

// What was decoded: bytes `outer` of the text that was decoded became bytes `inner` of the result.
struct Segment {
  Range outer;
  Range inner;
  Encoding encoding = Encoding::kPercent;
};

// Immutable once made. Holds its text.
class Layer {
 public:
  std::string_view text() const { return text_; }
  const std::vector<Segment>& segments() const { return segments_; }
  // Where the outer text's encoded stretches were left alone because there were too many.
  std::optional<uint64_t> stopped_at() const { return stopped_at_; }

  // The outer text's bytes that a range of this one came from. A segment counts whole.
  Range ToOuter(Range inner) const;
  // Does a segment share a byte with the range?
  bool TouchesAny(Range inner) const;
  // The encodings of those that do, in the enum's order. A few look-ups however many they are.
  std::vector<Encoding> EncodingsIn(Range inner) const;

  // Gives up the text, once the next layer is made; the way back remains.
  void DropText() { std::string().swap(text_); }

 private:
  friend std::optional<Layer> DecodeLayer(std::string_view text, size_t max_segments);
  void Append(std::string_view outer, Range stretch, std::string_view decoded, Encoding encoding);
  // The first segment that ends after the byte.
  size_t FirstEndingAfter(uint64_t inner) const;

  std::string text_;
  std::vector<Segment> segments_;                              // in order, apart
  std::array<std::vector<uint32_t>, kEncodings> of_encoding_;  // positions in segments_
  std::optional<uint64_t> stopped_at_;
};

// Nothing if the text holds nothing that decodes. Never longer than the text.
std::optional<Layer> DecodeLayer(std::string_view text, size_t max_segments = kMaxSegments);

}  // namespace keysieve::detect::decode
