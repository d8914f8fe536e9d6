// SPDX-License-Identifier: MIT
// A finding: where a rule's secret stands in a blob. Bytes, never text: paths, matches and secrets
// may hold anything. This struct holds the secret in the clear; what leaves the daemon goes through
// Redact() unless the caller may see it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "daemon/detect/checksum.h"

namespace keysieve::detect {

struct Finding {
  uint32_t rule = 0;         // position in the rule set
  uint64_t match_start = 0;  // bytes from the blob's first, half open
  uint64_t match_end = 0;
  uint64_t secret_start = 0;  // the secret group's range
  uint64_t secret_end = 0;
  uint32_t start_line = 0;  // 1-based
  uint32_t end_line = 0;
  uint32_t start_column = 0;  // 1-based, bytes
  uint32_t end_column = 0;    // inclusive
  std::string match;          // the matched bytes
  std::string secret;
  ChecksumResult checksum = ChecksumResult::kUnchecked;
  double entropy = 0;       // Shannon entropy of the secret, bits per byte
  std::string fingerprint;  // keysieve's: k<keyid>:<20 base32>
  // What was decoded, outermost first: "percent", "base64", ...; empty for plain text. Match and
  // secret are then the decoded bytes, the places those of the encoded ones.
  std::vector<std::string> decode_path;
  // Why it does not count: an allow comment, a line of an ignore file, a baseline. Empty: it does.
  std::string suppressed_by;
};

}  // namespace keysieve::detect
