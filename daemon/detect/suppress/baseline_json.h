// SPDX-License-Identifier: MIT
// The JSON of baselines, read as a stream: of each entry only the few fields that tell findings
// apart are kept, so that 16 MiB of text never become a tree of ten times that.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace keysieve::detect::suppress {

// One finding as a report has it; what is absent is empty or 0. Field names of either report.
struct BaselineEntry {
  std::string type;         // JSON lines only: "finding" and others
  std::string rule;         // RuleID, rule_id
  std::string secret;       // Secret
  std::string file;         // File, path
  std::string fingerprint;  // KeysieveFingerprint, keysieve_fingerprint
  uint32_t start_line = 0;
  uint32_t end_line = 0;
  uint32_t start_column = 0;
  double entropy = 0;
};

using TakeEntry = std::function<void(BaselineEntry entry)>;

// An array of objects. INVALID_ARGUMENT says where it stops being that; entries before were taken.
absl::Status ReadBaselineArray(std::string_view json, const TakeEntry& take);

// One object a line; empty lines are passed over. INVALID_ARGUMENT names the line.
absl::Status ReadBaselineLines(std::string_view json, const TakeEntry& take);

}  // namespace keysieve::detect::suppress
