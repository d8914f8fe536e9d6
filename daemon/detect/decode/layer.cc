// SPDX-License-Identifier: MIT
// Segments are sorted in both texts at once, so each question is one binary search.
#include "daemon/detect/decode/layer.h"

#include <algorithm>

#include "daemon/detect/decode/decoders.h"

namespace keysieve::detect::decode {
namespace {

// Escapes this near to each other are one segment, plain text between them and all: too little to
// hold a secret of its own.
constexpr uint64_t kMergedGap = 8;

// The first decodable part of a percent stretch: escapes, and what little stands between them.
Range DecodePercentPart(std::string_view text, Range rest, std::string* out) {
  out->clear();
  uint64_t at = rest.start;
  while (at < rest.end && DecodePercent(text.substr(at)) < 0) ++at;
  Range part{at, at};
  size_t whole = 0;  // of `out`, up to its last escape
  while (at < rest.end && at - part.end <= kMergedGap) {
    const int byte = DecodePercent(text.substr(at));
    out->push_back(byte < 0 ? text[at] : static_cast<char>(byte));
    at += byte < 0 ? 1 : 3;
    if (byte < 0) continue;
    part.end = at;
    whole = out->size();
  }
  out->resize(whole);
  return part;
}

bool Decode(std::string_view stretch, Encoding encoding, std::string* out) {
  switch (encoding) {
    case Encoding::kUnicode:
      return DecodeUnicode(stretch, out);
    case Encoding::kHex:
      return DecodeHex(stretch, out);
    case Encoding::kBase64:
      return DecodeBase64(stretch, out);
    case Encoding::kPercent:
      return false;  // part by part
  }
  return false;
}

}  // namespace

void Layer::Append(std::string_view outer, Range stretch, std::string_view decoded,
                   Encoding encoding) {
  const uint64_t from = segments_.empty() ? 0 : segments_.back().outer.end;
  text_.append(outer, from, stretch.start - from);
  const uint64_t start = text_.size();
  text_.append(decoded);
  of_encoding_[static_cast<size_t>(encoding)].push_back(static_cast<uint32_t>(segments_.size()));
  segments_.push_back({stretch, {start, text_.size()}, encoding});
}

size_t Layer::FirstEndingAfter(uint64_t inner) const {
  return std::partition_point(segments_.begin(), segments_.end(),
                              [&](const Segment& s) { return s.inner.end <= inner; }) -
         segments_.begin();
}

Range Layer::ToOuter(Range inner) const {
  // Outside the segments the two texts differ by a shift, which the segment before tells.
  const auto plain = [&](size_t next, uint64_t at) {
    return next == 0 ? at : at - segments_[next - 1].inner.end + segments_[next - 1].outer.end;
  };
  Range outer;
  const size_t first = FirstEndingAfter(inner.start);
  const bool starts_inside =
      first < segments_.size() && segments_[first].inner.start <= inner.start;
  outer.start = starts_inside ? segments_[first].outer.start : plain(first, inner.start);
  if (inner.end <= inner.start) return {outer.start, outer.start};
  const uint64_t last_byte = inner.end - 1;
  const size_t last = FirstEndingAfter(last_byte);
  const bool ends_inside = last < segments_.size() && segments_[last].inner.start <= last_byte;
  outer.end = ends_inside ? segments_[last].outer.end : plain(last, last_byte) + 1;
  return outer;
}

bool Layer::TouchesAny(Range inner) const {
  const size_t first = FirstEndingAfter(inner.start);
  return first < segments_.size() && segments_[first].inner.start < inner.end;
}

std::vector<Encoding> Layer::EncodingsIn(Range inner) const {
  const size_t first = FirstEndingAfter(inner.start);
  const size_t end =
      std::partition_point(segments_.begin(), segments_.end(),
                           [&](const Segment& s) { return s.inner.start < inner.end; }) -
      segments_.begin();
  std::vector<Encoding> found;
  for (size_t i = 0; i < kEncodings; ++i) {
    const std::vector<uint32_t>& positions = of_encoding_[i];
    const auto position = std::lower_bound(positions.begin(), positions.end(), first);
    if (position != positions.end() && *position < end) found.push_back(static_cast<Encoding>(i));
  }
  return found;
}

std::optional<Layer> DecodeLayer(std::string_view text, size_t max_segments) {
  Layer layer;
  std::string decoded;
  StretchFinder finder(text);
  for (Stretch stretch; !layer.stopped_at_ && finder.Next(&stretch);) {
    Range rest{stretch.start, stretch.end};
    if (stretch.encoding != Encoding::kPercent) {
      if (!Decode(text.substr(rest.start, rest.end - rest.start), stretch.encoding, &decoded)) {
        continue;
      }
      if (layer.segments_.size() == max_segments) layer.stopped_at_ = rest.start;
      if (!layer.stopped_at_) layer.Append(text, rest, decoded, stretch.encoding);
      continue;
    }
    while (rest.start < rest.end && !layer.stopped_at_) {
      const Range part = DecodePercentPart(text, rest, &decoded);
      if (part.start == part.end) break;
      if (layer.segments_.size() == max_segments) layer.stopped_at_ = part.start;
      if (!layer.stopped_at_) layer.Append(text, part, decoded, stretch.encoding);
      rest.start = part.end;
    }
  }
  if (layer.segments_.empty()) return std::nullopt;
  layer.text_.append(text, layer.segments_.back().outer.end);
  return layer;
}

}  // namespace keysieve::detect::decode
