// SPDX-License-Identifier: MIT
// How a stream begins: what its first message asks for, what policy grants of it, and what must be
// loaded before the first chunk is read.
#include <algorithm>

#include "daemon/scan_pipeline.h"
#include "evidence/base/status.h"

namespace keysieve::pipeline {

void ScanStream::StartScan(ScanOptions options) {
  MutexLock lock(mutex_);
  if (state_ != State::kOptions || failing_) return;
  label_ = options.label.substr(0, kMaxLabelBytes);
  if (options.label.size() > kMaxLabelBytes) {
    return FailSoon({.code = absl::StatusCode::kInvalidArgument,
                     .reason = "LABEL_TOO_LONG",
                     .message = Cat("a label of ", options.label.size(),
                                    " bytes exceeds the limit of ", kMaxLabelBytes),
                     .field = "options.label"});
  }
  if (options.show_secrets && !caller_.owner) return Deny("show_secrets");
  if (auto failure = Forbidden(options)) {
    pipeline_.counters_.Rejected("permission");
    return FailSoon(*std::move(failure));
  }
  show_secrets_ = options.show_secrets;
  if (options.profile) BeginProfile();
  const PipelineOptions& policy = pipeline_.options_;
  settings_.decode_depth =
      std::min(options.decode_depth.value_or(policy.decode_depth), policy.decode_depth);
  settings_.inline_allow = policy.inline_allow;
  if (options.rule_toml && options.rule_toml->size() > kMaxRuleTextBytes) {
    return FailSoon({.code = absl::StatusCode::kInvalidArgument,
                     .reason = "RULES_TOO_LARGE",
                     .message = Cat("a rule text of ", options.rule_toml->size(),
                                    " bytes exceeds the limit of ", kMaxRuleTextBytes),
                     .field = "options.rule_toml"});
  }
  const bool extend_only = !caller_.owner && policy.caller_rules != CallerRules::kAny;
  Prepare(
      [this, extend_only, options = std::move(options)]() -> absl::StatusOr<Preparation> {
        Preparation ready;
        KS_ASSIGN_OR_RETURN(ready.rules, options.rule_toml
                                             ? pipeline_.OwnRules(*options.rule_toml, extend_only)
                                             : pipeline_.NamedRules(options.rule_set));
        if (options.ignores.empty()) return ready;
        auto ignores = detect::suppress::Ignores::Read(
            options.ignores, ready.rules.rules->fingerprinter(), &ready.warnings);
        ready.ignores_read = ignores.status();
        if (ignores.ok()) ready.ignores = *std::move(ignores);
        return ready;
      },
      false);
}

// What policy keeps this caller from asking for, if anything.
std::optional<Failure> ScanStream::Forbidden(const ScanOptions& options) const {
  const PipelineOptions& policy = pipeline_.options_;
  Failure failure{.code = absl::StatusCode::kPermissionDenied};
  if (!options.ignores.empty() && !policy.take_ignores) {
    failure.reason = "IGNORES_FORBIDDEN";
    failure.message =
        "this daemon takes no baselines and ignore files (policy.ignores = false); scan without";
    failure.field = "options.ignores";
    return failure;
  }
  if (options.rule_toml && !caller_.owner && policy.caller_rules == CallerRules::kNone) {
    failure.reason = "RULES_FORBIDDEN";
    failure.message =
        Cat("this daemon takes rules only from its own user (policy.rules = ", "\"none\"); ",
            caller_.why_not);
    failure.field = "options.rule_toml";
    return failure;
  }
  return std::nullopt;
}

void ScanStream::StartMatch(MatchOptions options) {
  MutexLock lock(mutex_);
  if (state_ != State::kOptions || failing_) return;
  matching_ = true;
  if (options.patterns.empty()) {
    return Prepare(
        [this, name = options.rule_set]() -> absl::StatusOr<Preparation> {
          KS_ASSIGN_OR_RETURN(LoadedRules rules, pipeline_.NamedRules(name));
          return Preparation{.rules = std::move(rules)};
        },
        true);
  }
  if (!options.rule_set.empty()) {
    return FailSoon({.code = absl::StatusCode::kInvalidArgument,
                     .reason = "PATTERNS_AND_RULE_SET",
                     .message = "either patterns or the name of a rule set, not both",
                     .field = "options.rule_set"});
  }
  uint64_t bytes = 0;
  for (const megakernel::Literal& literal : options.patterns) bytes += literal.bytes.size();
  if (bytes > kMaxPatternListBytes) {
    return FailSoon(
        {.code = absl::StatusCode::kInvalidArgument,
         .reason = "PATTERNS_TOO_LARGE",
         .message = Cat("patterns of ", bytes, " bytes exceed the limit of ", kMaxPatternListBytes),
         .field = "options.patterns"});
  }
  Prepare(
      [this, patterns = std::move(options.patterns)]() -> absl::StatusOr<Preparation> {
        KS_ASSIGN_OR_RETURN(auto table, pipeline_.options().compile(patterns));
        return Preparation{
            .rules = {nullptr, std::make_shared<const megakernel::Table>(std::move(table))}};
      },
      false);
}

void ScanStream::Prepare(std::function<absl::StatusOr<Preparation>()> work, bool named) {
  state_ = State::kPreparing;
  pipeline_.workers_.Post(id_, [self = shared_from_this(), work = std::move(work), named] {
    self->Prepared(work(), named);
  });
}

void ScanStream::Prepared(absl::StatusOr<Preparation> ready, bool named) {
  MutexLock lock(mutex_);
  if (state_ != State::kPreparing || failing_) return;
  if (!ready.ok()) {
    return FailSoon({.code = ready.status().code(),
                     .reason = "BAD_RULES",
                     .message = keysieve::Message(ready.status()),
                     .field = matching_ ? "options.patterns" : "options.rules"});
  }
  if (!ready->ignores_read.ok()) {
    return FailSoon({.code = ready->ignores_read.code(),
                     .reason = "BAD_IGNORES",
                     .message = keysieve::Message(ready->ignores_read),
                     .field = "options.ignores"});
  }
  loaded_ = std::move(ready->rules);
  ignores_ = std::move(ready->ignores);
  Accepted accepted{.scan_id = scan_id_,
                    .blob_bytes = pipeline_.options_.blob_limit,
                    .warnings = std::move(ready->warnings)};
  if (matching_) {
    accepted.rule_digest = loaded_.table == nullptr ? "" : loaded_.table->digest;
    accepted.rule_count = loaded_.table == nullptr ? 0 : loaded_.table->literal_count;
    if (named) accepted.literals = loaded_.rules->literals();
  } else {
    accepted.rule_digest = loaded_.rules->digest();
    accepted.rule_count = static_cast<uint32_t>(loaded_.rules->rules().size());
    accepted.rule_set = loaded_.rules->name();
  }
  summary_.scan_id = scan_id_;
  summary_.rule_digest = accepted.rule_digest;
  sink_->OnAccepted(accepted);
  state_ = State::kOpen;
  AskForMore();
}

}  // namespace keysieve::pipeline
