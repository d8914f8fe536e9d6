// SPDX-License-Identifier: MIT
// Every text is scanned whole, so that what a rule requires elsewhere in it, a keyword or another
// finding, is seen; of what is found only that counts which holds something newly decoded.
#include "daemon/detect/decode/decoded_scan.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "daemon/detect/blob_scan.h"
#include "daemon/detect/suppress/allow_mark.h"
#include "evidence/base/status.h"

namespace keysieve::detect::decode {
namespace {

using megakernel::LiteralHit;

// One settled order, in which what was found twice stands side by side.
auto SortKey(const Finding& f) {
  return std::tie(f.match_start, f.match_end, f.rule, f.secret_start, f.secret_end, f.secret,
                  f.decode_path);
}

bool Same(const Finding& a, const Finding& b) {
  return std::tie(a.match_start, a.match_end, a.rule, a.secret) ==
         std::tie(b.match_start, b.match_end, b.rule, b.secret);
}

}  // namespace

std::vector<LiteralHit> HitsOfLayer(const Layer& layer, const LiteralFinder& finder,
                                    std::span<const LiteralHit> outer_hits) {
  const std::vector<Segment>& segments = layer.segments();
  std::vector<LiteralHit> hits;
  size_t next = 0;  // the first segment that ends after the hit's start
  for (const LiteralHit& hit : outer_hits) {
    while (next < segments.size() && segments[next].outer.end <= hit.start) ++next;
    if (next < segments.size() && segments[next].outer.start < hit.end) continue;
    const uint64_t from = next == 0 ? 0 : segments[next - 1].outer.end;
    const uint64_t to = next == 0 ? 0 : segments[next - 1].inner.end;
    hits.push_back({hit.start - from + to, hit.end - from + to, hit.pattern});
  }
  const uint64_t reach = finder.longest() == 0 ? 0 : finder.longest() - 1;
  std::vector<LiteralHit> found;
  uint64_t searched_to = 0;
  size_t segment = 0;
  for (const Segment& s : segments) {
    const uint64_t from = std::max(searched_to, s.inner.start - std::min(reach, s.inner.start));
    searched_to = std::max(searched_to, s.inner.end);
    if (from < searched_to) finder.Find(layer.text(), {from, searched_to}, &found);
  }
  for (const LiteralHit& hit : found) {  // those beside the segments are known
    while (segment < segments.size() && segments[segment].inner.end <= hit.start) ++segment;
    if (segment < segments.size() && segments[segment].inner.start < hit.end) hits.push_back(hit);
  }
  std::sort(hits.begin(), hits.end());
  return hits;
}

ScanOutcome DecodedScan::Run(std::span<const LiteralHit> hits) {
  outcome_.findings = Scan(blob_.bytes, hits);
  if (IsUtf32(blob_.bytes)) {
    Report(Uncovered::Reason::kUndecodable, {0, blob_.bytes.size()}, "UTF-32 is not decoded");
  }
  if (const auto order = DetectUtf16(blob_.bytes)) {
    ScanUtf16(*order);
  } else if (settings_.decode_depth > 0) {
    ScanLayers(blob_.bytes, {hits.begin(), hits.end()});
  }
  std::vector<Finding>& found = outcome_.findings;
  std::sort(found.begin(), found.end(),
            [](const Finding& a, const Finding& b) { return SortKey(a) < SortKey(b); });
  found.erase(std::unique(found.begin(), found.end(), Same), found.end());
  for (Finding& finding : found) {
    finding.checksum = CheckToken(rules_.rules[finding.rule].checksum, finding.secret);
  }
  return std::move(outcome_);
}

void DecodedScan::ScanUtf16(ByteOrder order) {
  utf16_ = DecodeUtf16(blob_.bytes, order);
  utf16_name_ = ToString(order);
  if (const auto broken = utf16_->broken()) {
    outcome_.uncovered.push_back({Uncovered::Reason::kUndecodable, broken->start, broken->end,
                                  Cat("bytes that are no ", utf16_name_)});
  }
  std::vector<LiteralHit> hits;
  finder_.Find(utf16_->text(), {0, utf16_->text().size()}, &hits);
  std::sort(hits.begin(), hits.end());
  Take(Scan(utf16_->text(), hits));
  if (settings_.decode_depth > 0) ScanLayers(utf16_->text(), std::move(hits));
}

void DecodedScan::ScanLayers(std::string_view text, std::vector<LiteralHit> hits) {
  for (uint32_t depth = 1; depth <= settings_.decode_depth; ++depth) {
    std::optional<Layer> layer = DecodeLayer(text);
    if (!layer) return;
    hits = HitsOfLayer(*layer, finder_, hits);
    if (!layers_.empty()) layers_.back().DropText();
    layers_.push_back(*std::move(layer));
    text = layers_.back().text();
    if (const auto stopped = layers_.back().stopped_at()) {
      const Range from = layers_.back().ToOuter({text.size(), text.size()});
      Report(Uncovered::Reason::kDecodeLimit, ToBase({*stopped, from.start}),
             Cat("more than ", kMaxSegments, " encoded stretches; the rest was scanned as it is"));
    }
    Take(Scan(text, hits));
  }
}

std::vector<Finding> DecodedScan::Scan(std::string_view text,
                                       std::span<const LiteralHit> hits) const {
  const BlobView view{.path = blob_.path, .bytes = text, .commit = blob_.commit};
  return BlobScan(rules_, view, hits, settings_.inline_allow).Run();
}

void DecodedScan::Take(std::vector<Finding> found) {
  for (Finding& finding : found) {
    if (finding.start_line == 0 || !Place(&finding)) continue;  // a path is found once
    outcome_.findings.push_back(std::move(finding));
  }
}

bool DecodedScan::Place(Finding* finding) {
  Range match{finding->match_start, finding->match_end};
  if (!layers_.empty() && !layers_.back().TouchesAny(match)) return false;
  Range secret{finding->secret_start, finding->secret_end};
  std::vector<std::string> path;  // innermost first
  for (auto layer = layers_.rbegin(); layer != layers_.rend(); ++layer) {
    const std::vector<Encoding> encodings = layer->EncodingsIn(match);
    for (auto it = encodings.rbegin(); it != encodings.rend(); ++it) path.push_back(ToString(*it));
    match = layer->ToOuter(match);
    secret = layer->ToOuter(secret);
  }
  if (utf16_) path.push_back(utf16_name_);
  std::reverse(path.begin(), path.end());
  finding->decode_path = std::move(path);
  Locate(match, finding);
  if (utf16_) {
    match = utf16_->ToBlob(match);
    secret = utf16_->ToBlob(secret);
  }
  finding->match_start = match.start;
  finding->match_end = match.end;
  finding->secret_start = secret.start;
  finding->secret_end = secret.end;
  return true;
}

// Lines are those of the text outside all layers, columns bytes of the blob.
void DecodedScan::Locate(Range match, Finding* finding) {
  const std::string_view base = utf16_ ? utf16_->text() : blob_.bytes;
  if (!lines_) lines_.emplace(base);
  const uint64_t last = std::max(match.start, match.end - 1);
  finding->start_line = lines_->LineOf(match.start);
  finding->end_line = lines_->LineOf(last);
  finding->start_column = lines_->ColumnOf(match.start);
  finding->end_column = lines_->ColumnOf(last);
  if (utf16_) {
    const auto before = [&](uint64_t at, uint32_t column) {
      return utf16_->ToBlob(at - (column - 1));  // where its line begins in the blob
    };
    const uint64_t first_line = before(match.start, finding->start_column);
    const uint64_t last_line = before(last, finding->end_column);
    const Range blob = utf16_->ToBlob(match);
    finding->start_column = static_cast<uint32_t>(blob.start - first_line + 1);
    finding->end_column = static_cast<uint32_t>(blob.end - last_line);
  }
  if (finding->suppressed_by.empty() && settings_.inline_allow) {
    finding->suppressed_by = MarkOn(lines_->LinesOf(match.start, match.end));
  }
}

// One line may be megabytes long and hold thousands of findings: it is looked at once.
std::string_view DecodedScan::MarkOn(std::string_view lines) {
  if (lines.data() != marked_lines_.data() || lines.size() != marked_lines_.size()) {
    marked_lines_ = lines;
    mark_ = suppress::AllowMarkOn(lines);
  }
  return mark_;
}

Range DecodedScan::ToBase(Range range) const {
  // From the text that the innermost layer was made of.
  for (size_t i = layers_.size() - 1; i-- > 0;) range = layers_[i].ToOuter(range);
  return range;
}

void DecodedScan::Report(Uncovered::Reason reason, Range base, std::string detail) {
  if (utf16_) base = utf16_->ToBlob(base);
  outcome_.uncovered.push_back({reason, base.start, base.end, std::move(detail)});
}

}  // namespace keysieve::detect::decode
