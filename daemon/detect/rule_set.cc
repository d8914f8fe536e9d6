// SPDX-License-Identifier: MIT
// The rule set behind the interface: read, merged, digested and compiled here, run by BlobScan.
#include "daemon/detect/rule_set.h"

#include <algorithm>
#include <utility>

#include "daemon/detect/compiled_rules.h"
#include "daemon/detect/decode/decoded_scan.h"
#include "daemon/detect/decode/literal_finder.h"
#include "daemon/detect/rule_digest.h"
#include "daemon/detect/rule_merge.h"
#include "evidence/base/status.h"

namespace keysieve::detect {
namespace {

class LoadedRuleSet : public RuleSet {
 public:
  LoadedRuleSet(const RuleFile& set, CompiledRules compiled, std::vector<std::string> warnings)
      : compiled_(std::move(compiled)),
        finder_(compiled_.gate.literals()),
        warnings_(std::move(warnings)),
        digest_(DigestOf(set)),
        name_(*set.name) {
    for (const RuleSpec& rule : set.rules) {
      RuleInfo& info = infos_.emplace_back();
      info.id = rule.id.value;
      if (rule.description) info.description = rule.description->value;
      for (const Text& tag : rule.tags) info.tags.push_back(tag.value);
    }
    for (const CompiledRule& rule : compiled_.rules) plans_.push_back(rule.plan);
  }

  std::span<const RuleInfo> rules() const override { return infos_; }
  std::span<const std::string> warnings() const override { return warnings_; }
  const std::string& digest() const override { return digest_; }
  const std::string& name() const override { return name_; }
  const Fingerprinter& fingerprinter() const override { return compiled_.fingerprinter; }
  std::span<const RulePlan> plans() const override { return plans_; }
  std::span<const megakernel::Literal> literals() const override {
    return compiled_.gate.literals();
  }

  Exclusion ExcludedByPath(std::string_view path) const override {
    for (const Allowlist& list : compiled_.allowlists) {
      if (list.AllowsPath(path)) return Exclusion::kAllowlistedPath;
    }
    return Exclusion::kNone;
  }

  ScanOutcome ScanAll(const BlobView& blob, std::span<const megakernel::LiteralHit> hits,
                      const ScanSettings& settings) const override {
    return decode::DecodedScan(compiled_, finder_, blob, settings).Run(hits);
  }

 private:
  CompiledRules compiled_;
  decode::LiteralFinder finder_;  // borrows from compiled_
  std::vector<RuleInfo> infos_;
  std::vector<RulePlan> plans_;
  std::vector<std::string> warnings_;
  std::string digest_;
  std::string name_;
};

}  // namespace

absl::StatusOr<std::shared_ptr<const RuleSet>> RuleSet::LoadText(std::string_view toml,
                                                                 const std::string& name,
                                                                 const RuleOptions& options) {
  std::vector<std::string> warnings;
  KS_ASSIGN_OR_RETURN(RuleFile set, ReadRuleSet(toml, name, options, &warnings));
  KS_ASSIGN_OR_RETURN(CompiledRules compiled, CompileRules(set, options.fingerprint, &warnings));
  return std::shared_ptr<const RuleSet>(
      std::make_shared<LoadedRuleSet>(set, std::move(compiled), std::move(warnings)));
}

absl::StatusOr<std::shared_ptr<const RuleSet>> RuleSet::LoadFile(const std::string& path,
                                                                 const RuleOptions& options) {
  KS_ASSIGN_OR_RETURN(const std::string text, ReadRuleFile(path));
  return LoadText(text, path, options);
}

}  // namespace keysieve::detect
