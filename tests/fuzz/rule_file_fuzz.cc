// SPDX-License-Identifier: MIT
// A rule file of any bytes is refused with a message that names it, or loads and scans.
#include <string_view>

#include "daemon/detect/literal_search.h"
#include "daemon/detect/rule_set.h"
#include "evidence/base/status.h"
#include "tests/fuzz/fuzz.h"

using keysieve::detect::RuleSet;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 16384) return 0;
  const std::string_view toml(reinterpret_cast<const char*>(data), size);
  keysieve::detect::RuleOptions options;
  options.may_extend_files = false;
  const auto rules = RuleSet::LoadText(toml, "fuzz.toml", options);
  if (!rules.ok()) {
    KS_MUST(rules.status().code() == absl::StatusCode::kInvalidArgument);
    KS_MUST(!keysieve::Message(rules.status()).empty());
    return 0;
  }
  const std::string_view text = toml.substr(0, 2048);
  const auto hits = keysieve::detect::SearchLiterals((*rules)->literals(), text);
  for (const auto& finding : (*rules)->Scan({"a.txt", text, ""}, hits)) {
    KS_MUST(finding.rule < (*rules)->rules().size());
    KS_MUST(finding.match_start <= finding.match_end && finding.match_end <= text.size());
  }
  return 0;
}
