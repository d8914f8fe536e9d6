// SPDX-License-Identifier: MIT
// A blob and all that it decodes to, scanned: UTF-16 first if it is that, then one layer of
// decoding after the other, each with the same rules. A finding in decoded text stands where the
// encoded bytes stand in the blob, and its decode path says what was done to them.
//
//   DecodedScan scan(rules, finder, blob, settings);
//   ScanOutcome outcome = scan.Run(hits);
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/detect/compiled_rules.h"
#include "daemon/detect/decode/layer.h"
#include "daemon/detect/decode/literal_finder.h"
#include "daemon/detect/decode/utf16.h"
#include "daemon/detect/finding.h"
#include "daemon/detect/line_index.h"
#include "daemon/detect/rule_set.h"
#include "megakernel/literal.h"

namespace keysieve::detect::decode {

// The hits of a layer's text, from those of the text it was decoded from: hits away from the
// segments move along, and only round the segments is searched. Sorted, like `outer_hits`.
std::vector<megakernel::LiteralHit> HitsOfLayer(const Layer& layer, const LiteralFinder& finder,
                                                std::span<const megakernel::LiteralHit> outer_hits);

// Borrows everything it is given. One thread. Holds at most two decoded texts at a time, neither
// longer than the blob (one and a half times, where it is UTF-16).
class DecodedScan {
 public:
  DecodedScan(const CompiledRules& rules, const LiteralFinder& finder, const BlobView& blob,
              const ScanSettings& settings)
      : rules_(rules), finder_(finder), blob_(blob), settings_(settings) {}

  // `hits` are those of the blob's own bytes, sorted. Call once.
  ScanOutcome Run(std::span<const megakernel::LiteralHit> hits);

 private:
  void ScanUtf16(ByteOrder order);
  void ScanLayers(std::string_view text, std::vector<megakernel::LiteralHit> hits);
  std::vector<Finding> Scan(std::string_view text,
                            std::span<const megakernel::LiteralHit> hits) const;
  void Take(std::vector<Finding> found);
  // Moves a finding of the innermost text to its place in the blob; false if it holds nothing that
  // was decoded last, so that an outer text gave it already.
  bool Place(Finding* finding);
  std::string_view MarkOn(std::string_view lines);
  Range ToBase(Range range) const;
  void Locate(Range match, Finding* finding);
  void Report(Uncovered::Reason reason, Range base, std::string detail);

  const CompiledRules& rules_;
  const LiteralFinder& finder_;
  const BlobView& blob_;
  const ScanSettings settings_;
  std::optional<Utf16Text> utf16_;
  std::string utf16_name_;
  std::optional<LineIndex> lines_;  // of the blob, or of its text if it is UTF-16
  std::string_view marked_lines_;   // last asked about,
  std::string_view mark_;           // and the allow comment on them
  std::vector<Layer> layers_;       // outermost first
  ScanOutcome outcome_;
};

}  // namespace keysieve::detect::decode
