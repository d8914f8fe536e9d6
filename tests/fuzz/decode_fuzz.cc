// SPDX-License-Identifier: MIT
// Any bytes, decoded layer by layer: no layer outgrows the one outside it, hits of a layer are
// those that a search of all of it finds, and every finding stands inside the blob.
#include <optional>
#include <string_view>
#include <vector>

#include "daemon/detect/decode/decoded_scan.h"
#include "daemon/detect/literal_search.h"
#include "tests/fuzz/fuzz.h"

namespace {

using keysieve::detect::RuleSet;
using namespace keysieve::detect::decode;

constexpr char kRules[] =
    "[[rules]]\nid = \"a\"\nregex = '''key=(\\w{4,20})'''\nkeywords = [\"key=\"]\n"
    "[[rules]]\nid = \"b\"\nregex = '''(?i)secret[^;]*;'''\n";

void CheckLayers(const RuleSet& rules, std::string_view text) {
  const LiteralFinder finder(rules.literals());
  auto hits = keysieve::detect::SearchLiterals(rules.literals(), text);
  std::optional<Layer> outer;
  for (int depth = 0; depth < 6; ++depth) {
    std::optional<Layer> layer = DecodeLayer(text);
    if (!layer) return;
    KS_MUST(layer->text().size() <= text.size());
    hits = HitsOfLayer(*layer, finder, hits);
    KS_MUST(hits == keysieve::detect::SearchLiterals(rules.literals(), layer->text()));
    for (const Segment& segment : layer->segments()) {
      KS_MUST(segment.inner.start < segment.inner.end);
      const Range back = layer->ToOuter(segment.inner);
      KS_MUST(back.start == segment.outer.start && back.end == segment.outer.end);
    }
    outer = std::move(layer);
    text = outer->text();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 8192) return 0;
  static const auto rules = RuleSet::LoadText(kRules, "fuzz.toml", {});
  KS_MUST(rules.ok());
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  CheckLayers(**rules, text);
  const auto hits = keysieve::detect::SearchLiterals((*rules)->literals(), text);
  const auto outcome = (*rules)->ScanAll({"a.txt", text, ""}, hits, {.decode_depth = 5});
  for (const auto& finding : outcome.findings) {
    KS_MUST(finding.match_start < finding.match_end && finding.match_end <= size);
    KS_MUST(finding.match_start <= finding.secret_start);
    KS_MUST(finding.secret_end <= finding.match_end);
    KS_MUST(finding.start_line >= 1 && finding.start_column >= 1);
    KS_MUST(finding.start_line <= finding.end_line);
  }
  for (const auto& part : outcome.uncovered) KS_MUST(part.start <= part.end && part.end <= size);
  return 0;
}
