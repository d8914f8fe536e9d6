// SPDX-License-Identifier: MIT
// One blob against one rule set: which rules look, what they match, which of it is a secret, and
// what is allowed. Lives for the length of a scan.
//
//   std::vector<Finding> findings = BlobScan(rules, blob, hits, true).Run();
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "daemon/detect/compiled_rules.h"
#include "daemon/detect/finding.h"
#include "daemon/detect/line_index.h"
#include "daemon/detect/rule_set.h"
#include "megakernel/literal.h"

namespace keysieve::detect {

// Borrows everything it is given. One thread.
class BlobScan {
 public:
  BlobScan(const CompiledRules& rules, const BlobView& blob,
           std::span<const megakernel::LiteralHit> hits, bool inline_allow)
      : rules_(rules),
        blob_(blob),
        inline_allow_(inline_allow),
        hits_(hits, rules.gate.literals().size()),
        lines_(blob.bytes) {}

  // Sorted by (match_start, match_end, rule). Call once.
  std::vector<Finding> Run();

 private:
  // What is known of the lines last asked about. One line may hold thousands of findings and be
  // megabytes long: its questions are answered once.
  struct LineVerdicts {
    std::string_view lines;
    std::optional<std::string_view> mark;      // the allow comment it holds, empty for none
    std::vector<std::optional<bool>> regexes;  // by allowlist, global ones first
  };

  bool AllowsBlob(std::span<const Allowlist> lists) const;
  void ReportRule(uint32_t rule, std::vector<Finding>* findings);
  // All findings of a rule by itself, whatever it requires.
  std::vector<Finding> FindingsOf(uint32_t rule);
  Finding PathFinding(uint32_t rule) const;
  std::optional<Finding> Judge(uint32_t rule, ByteRange match);
  ByteRange SecretOf(const CompiledRule& rule, ByteRange match) const;
  bool Allowed(const CompiledRule& rule, const Finding& finding);
  bool RegexMatches(const Allowlist& list, size_t position, const Finding& finding);
  std::string_view AllowMark(const Finding& finding);
  LineVerdicts& VerdictsOf(const Finding& finding);
  void Locate(Finding* finding);
  void KeepWithRequired(const CompiledRule& rule, std::vector<Finding>* findings);
  std::string_view Bytes(ByteRange range) const {
    return blob_.bytes.substr(range.start, range.end - range.start);
  }

  const CompiledRules& rules_;
  const BlobView& blob_;
  const bool inline_allow_;
  HitIndex hits_;
  LineIndex lines_;
  LineVerdicts verdicts_;
  std::vector<uint64_t> starts_;    // scratch of FindingsOf()
  std::vector<ByteRange> matches_;  // likewise
};

}  // namespace keysieve::detect
