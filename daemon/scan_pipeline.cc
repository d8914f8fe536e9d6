// SPDX-License-Identifier: MIT
// The journey of a chunk, top to bottom: options, a message's chunks, admission, assembly, the
// lane, confirming, the reply. What ends a stream stands in scan_streams.cc.
#include "daemon/scan_pipeline.h"

#include <algorithm>
#include <new>

#include "daemon/detect/redact.h"
#include "evidence/base/status.h"

namespace keysieve::pipeline {
namespace {

constexpr uint64_t kMinCharge = 1024;  // even an empty blob costs its bookkeeping
constexpr size_t kHitsPerMessage = 32768;

}  // namespace

// ---- 1. Options: which rules, and may the caller see secrets?

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
  if (options.rule_toml && !caller_.owner) return Deny("rule_toml");
  if (options.has_ignores) {
    return FailSoon({.code = absl::StatusCode::kUnimplemented,
                     .reason = "IGNORES_NOT_SERVED",
                     .message = "this daemon does not apply baselines or ignore files; apply them "
                                "to its findings instead",
                     .field = "options.ignores"});
  }
  show_secrets_ = options.show_secrets;
  if (options.profile) BeginProfile();
  if (options.rule_toml) {
    if (options.rule_toml->size() > kMaxRuleTextBytes) {
      return FailSoon({.code = absl::StatusCode::kInvalidArgument,
                       .reason = "RULES_TOO_LARGE",
                       .message = Cat("a rule text of ", options.rule_toml->size(),
                                      " bytes exceeds the limit of ", kMaxRuleTextBytes),
                       .field = "options.rule_toml"});
    }
    return Prepare(
        [this, toml = *std::move(options.rule_toml)] { return pipeline_.OwnRules(toml); }, false);
  }
  Prepare([this, name = options.rule_set] { return pipeline_.NamedRules(name); }, false);
}

void ScanStream::StartMatch(MatchOptions options) {
  MutexLock lock(mutex_);
  if (state_ != State::kOptions || failing_) return;
  matching_ = true;
  if (options.patterns.empty()) {
    return Prepare([this, name = options.rule_set] { return pipeline_.NamedRules(name); }, true);
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
      [this, patterns = std::move(options.patterns)]() -> absl::StatusOr<LoadedRules> {
        KS_ASSIGN_OR_RETURN(auto table, pipeline_.options().compile(patterns));
        return LoadedRules{nullptr, std::make_shared<const megakernel::Table>(std::move(table))};
      },
      false);
}

void ScanStream::Prepare(std::function<absl::StatusOr<LoadedRules>()> work, bool named) {
  state_ = State::kPreparing;
  pipeline_.workers_.Post(id_, [self = shared_from_this(), work = std::move(work), named] {
    self->Prepared(work(), named);
  });
}

void ScanStream::Prepared(absl::StatusOr<LoadedRules> loaded, bool named) {
  MutexLock lock(mutex_);
  if (state_ != State::kPreparing || failing_) return;
  if (!loaded.ok()) {
    return FailSoon({.code = loaded.status().code(),
                     .reason = "BAD_RULES",
                     .message = keysieve::Message(loaded.status()),
                     .field = matching_ ? "options.patterns" : "options.rules"});
  }
  loaded_ = *std::move(loaded);
  Accepted accepted{.scan_id = scan_id_, .blob_bytes = pipeline_.options_.blob_limit};
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

// ---- 2. A message: its chunks one by one, stopping where memory must be waited for.

void ScanStream::Message(std::vector<Chunk> chunks) {
  MutexLock lock(mutex_);
  if (state_ == State::kEnded || failing_) return;
  since_ = pipeline_.options_.now();
  reading_ = false;
  if (state_ != State::kOpen) {
    return FailSoon({.code = absl::StatusCode::kInvalidArgument,
                     .reason = "OPTIONS_FIRST",
                     .message = "chunks came before the options",
                     .field = "options"});
  }
  message_ = std::move(chunks);
  position_ = 0;
  Advance();
}

void ScanStream::Advance() {
  while (position_ < message_.size()) {
    const Taken taken = TakeChunk(message_[position_]);
    if (taken == Taken::kFailed) return;
    if (taken == Taken::kWait) return;  // Granted() goes on
    ++position_;
  }
  message_.clear();
  position_ = 0;
  AskForMore();
}

ScanStream::Taken ScanStream::TakeChunk(Chunk& chunk) {
  if (auto failure = CheckChunk(chunk)) {
    FailSoon(*std::move(failure));
    return Taken::kFailed;
  }
  if (!blob_.has_value()) {
    const Taken begun = Begin(chunk);
    if (begun != Taken::kYes) return begun;
  }
  if (auto failure = CheckNext(chunk, *blob_)) {
    FailSoon(*std::move(failure));
    return Taken::kFailed;
  }
  Append(chunk, pipeline_.options_.blob_limit, *blob_);
  std::string().swap(chunk.data);
  if (chunk.last) Complete();
  return state_ == State::kEnded ? Taken::kFailed : Taken::kYes;
}

// The first chunk of a blob: policy by path, then the limit, then memory.
ScanStream::Taken ScanStream::Begin(Chunk& chunk) {
  if (auto failure = CheckFirst(chunk, !seen_.Add(chunk.blob_id))) {
    FailSoon(*std::move(failure));
    return Taken::kFailed;
  }
  if (seen_.full()) {
    FailSoon(BadChunk(chunk.blob_id, "blob_id", "too many scattered ids; count blobs in sequence"));
    return Taken::kFailed;
  }
  blob_.emplace();
  blob_->id = chunk.blob_id;
  blob_->path = std::move(chunk.path);
  blob_->commit = std::move(chunk.commit);
  blob_->declared = chunk.declared_size;
  chunk.path.clear();  // taken: from here on it is a chunk like any other
  chunk.declared_size.reset();
  if (loaded_.rules != nullptr && !matching_ &&
      loaded_.rules->ExcludedByPath(blob_->path) != detect::Exclusion::kNone) {
    blob_->omission =
        Omission{.reason = Reason::kAllowlistedPath, .detail = "the rules allow this path"};
    return Taken::kYes;
  }
  const uint64_t limit = pipeline_.options_.blob_limit;
  if (blob_->declared.value_or(0) > limit) {
    blob_->omission = OverLimit(*blob_->declared, limit);
    blob_->is_gap = true;
    return Taken::kYes;
  }
  return Admit();
}

// ---- 3. Admission: the whole blob's memory, or a place in the queue.

ScanStream::Taken ScanStream::Admit() {
  const uint64_t size = blob_->declared.value_or(pipeline_.options_.blob_limit);
  auto answer = pipeline_.admission_->Reserve(
      std::max(size, kMinCharge),
      [self = shared_from_this()](scheduler::Reservation r) { self->Granted(std::move(r)); });
  if (!answer.ok()) {  // the settings' check makes this impossible; say it all the same
    pipeline_.counters_.Rejected("impossible_size");
    FailSoon({.code = absl::StatusCode::kResourceExhausted,
              .reason = "BLOB_MEMORY",
              .message = keysieve::Message(answer.status())});
    return Taken::kFailed;
  }
  if (!answer->now.held()) {
    ticket_ = answer->ticket;
    since_ = pipeline_.options_.now();
    return Taken::kWait;
  }
  return Furnish(std::move(answer->now)) ? Taken::kYes : Taken::kFailed;
}

bool ScanStream::Furnish(scheduler::Reservation reservation) {
  auto bytes = std::make_shared<BlobBytes>();
  bytes->capacity = blob_->declared.value_or(pipeline_.options_.blob_limit);
  // Untouched pages cost nothing, so an unknown size may take its limit.
  bytes->data.reset(new (std::nothrow) uint8_t[std::max<uint64_t>(bytes->capacity, 1)]);
  if (bytes->data == nullptr) {
    pipeline_.counters_.Rejected("host_memory");
    FailSoon({.code = absl::StatusCode::kResourceExhausted,
              .reason = "HOST_MEMORY",
              .message = Cat("the host has no ", bytes->capacity, " bytes for blob ", blob_->id),
              .retry_after = std::chrono::seconds(5)});
    return false;
  }
  bytes->reservation = std::move(reservation);
  blob_->bytes = std::move(bytes);
  return true;
}

void ScanStream::Granted(scheduler::Reservation reservation) {
  MutexLock lock(mutex_);
  ticket_ = 0;
  if (state_ == State::kEnded || failing_ || !blob_) return;  // the reservation goes back
  since_ = pipeline_.options_.now();
  if (!Furnish(std::move(reservation))) return;
  Advance();
}

// ---- 4. The blob is whole: to the lane, unless it was left out.

void ScanStream::Complete() {
  IncomingBlob blob = *std::move(blob_);
  blob_.reset();
  blob.whole_since = pipeline_.options_.now();
  if (blob.bytes == nullptr) return ReplyOmitted(std::move(blob));
  blob.bytes->reservation.Shrink(std::max(blob.received, kMinCharge));
  ++outstanding_;
  auto self = shared_from_this();
  if (loaded_.table == nullptr) {  // no literal to look for: every rule reads the whole blob
    pipeline_.workers_.Post(id_, [self, blob = std::move(blob)]() mutable {
      self->Confirm(std::move(blob), {.route_reason = "the rule set has no literals"});
    });
    return;
  }
  scheduler::MatchJob job;
  job.bytes = blob.bytes->view();
  job.owner = blob.bytes;
  job.table = loaded_.table;
  job.request = id_;
  job.profile = profile_;
  job.cancelled = cancelled_;
  job.done = [self, blob = std::move(blob)](scheduler::MatchOutcome outcome) mutable {
    self->pipeline_.workers_.Post(
        self->id_, [self, blob = std::move(blob), outcome = std::move(outcome)]() mutable {
          self->Confirm(std::move(blob), std::move(outcome));
        });
  };
  pipeline_.matcher_.Submit(std::move(job));
}

// ---- 5. Hits are back: confirm them (on a worker), redact, reply with a receipt.

void ScanStream::Confirm(IncomingBlob blob, scheduler::MatchOutcome outcome) {
  if (cancelled_->load()) return;
  if (!outcome.status.ok()) {
    MutexLock lock(mutex_);
    --outstanding_;
    const bool table = outcome.status.code() == absl::StatusCode::kResourceExhausted;
    return FailNow(
        {.code = outcome.status.code(),
         .reason = table ? "TABLE_TOO_LARGE" : "NO_ROUTE",
         .message = Cat("blob ", blob.id, " was not scanned: ", keysieve::Message(outcome.status)),
         .retry_after = table ? std::nullopt : std::optional(std::chrono::milliseconds(5000))});
  }
  bool matching;
  {
    MutexLock lock(mutex_);
    matching = matching_;
  }
  matching ? ReplyHits(std::move(blob), std::move(outcome))
           : ReplyBlob(std::move(blob), std::move(outcome));
}

namespace {

Receipt WholeReceipt(const IncomingBlob& blob, scheduler::MatchOutcome& outcome) {
  return {.blob_bytes = blob.received,
          .scanned_bytes = blob.received,
          .route = outcome.route,
          .recovered = outcome.recovered,
          .route_reason = std::move(outcome.route_reason)};
}

}  // namespace

void ScanStream::ReplyBlob(IncomingBlob blob, scheduler::MatchOutcome outcome) {
  LoadedRules loaded;
  bool show = false;
  {
    MutexLock lock(mutex_);
    loaded = loaded_;
    show = show_secrets_;
  }
  const std::span<const uint8_t> bytes = blob.bytes->view();
  const detect::BlobView view{.path = blob.path,
                              .bytes = {reinterpret_cast<const char*>(bytes.data()), bytes.size()},
                              .commit = blob.commit};
  BlobResult result{.blob_id = blob.id,
                    .rules = loaded.rules,
                    .findings = loaded.rules->Scan(view, outcome.hits),
                    .receipt = WholeReceipt(blob, outcome)};
  if (!show) detect::RedactFindings(result.findings);
  blob.bytes.reset();  // its memory is free before anyone reads the reply
  result.path = std::move(blob.path);
  result.commit = std::move(blob.commit);
  for (const detect::Finding& finding : result.findings) {
    pipeline_.counters_.Found(loaded.is_default ? loaded.rules->rules()[finding.rule].id : "other");
  }
  MutexLock lock(mutex_);
  --outstanding_;
  if (state_ == State::kEnded) return;
  Charge(outcome);
  Account(result.receipt, result.findings.size(), blob.whole_since);
  sink_->OnBlob(std::move(result));
  EndIfDone();
}

void ScanStream::ReplyHits(IncomingBlob blob, scheduler::MatchOutcome outcome) {
  blob.bytes.reset();
  const Receipt receipt = WholeReceipt(blob, outcome);
  MutexLock lock(mutex_);
  --outstanding_;
  if (state_ == State::kEnded) return;
  if (outcome.hits.size() > pipeline_.options_.max_hits) {
    return FailNow({.code = absl::StatusCode::kResourceExhausted,
                    .reason = "TOO_MANY_HITS",
                    .message = Cat("blob ", blob.id, " has ", outcome.hits.size(), " hits, ",
                                   pipeline_.options_.max_hits,
                                   " is the limit; send it as several smaller blobs")});
  }
  Charge(outcome);
  Account(receipt, 0, blob.whole_since);
  std::span<const megakernel::LiteralHit> rest = outcome.hits;
  for (bool last = false; !last;) {
    const auto part = rest.first(std::min(rest.size(), kHitsPerMessage));
    rest = rest.subspan(part.size());
    last = rest.empty();
    sink_->OnHits({blob.id, part, last, last ? &receipt : nullptr});
  }
  EndIfDone();
}

// A blob that policy or a limit left out still gets its receipt.
void ScanStream::ReplyOmitted(IncomingBlob blob) {
  Receipt receipt{.blob_bytes = blob.received};
  blob.omission->end = blob.received;
  (blob.is_gap ? receipt.gaps : receipt.exclusions).push_back(*std::move(blob.omission));
  Account(receipt, 0, blob.whole_since);
  if (matching_) {
    sink_->OnHits({blob.id, {}, true, &receipt});
  } else {
    sink_->OnBlob({.blob_id = blob.id,
                   .path = std::move(blob.path),
                   .commit = std::move(blob.commit),
                   .rules = loaded_.rules,
                   .receipt = std::move(receipt)});
  }
}

void ScanStream::Account(const Receipt& receipt, uint64_t findings, Clock::time_point whole_since) {
  since_ = pipeline_.options_.now();
  ++summary_.blobs;
  summary_.bytes += receipt.blob_bytes;
  summary_.scanned_bytes += receipt.scanned_bytes;
  summary_.findings += findings;
  summary_.gaps += receipt.gaps.size();
  summary_.exclusions += receipt.exclusions.size();
  summary_.complete = summary_.complete && receipt.gaps.empty();
  ScanCounters& counters = pipeline_.counters_;
  counters.Blob(since_ - whole_since);
  for (const Omission& gap : receipt.gaps) counters.Gap(ReasonName(gap.reason));
  for (const Omission& no : receipt.exclusions) counters.Excluded(ReasonName(no.reason));
  if (receipt.gaps.empty() && receipt.exclusions.empty()) {
    const std::string route(backends::BackendName(receipt.route));
    counters.Scanned(route, receipt.scanned_bytes);
    counters.TenantScanned(Tenant(), receipt.scanned_bytes);
    summary_.route_bytes[route] += receipt.scanned_bytes;
  }
}

// ---- 6. The next message is read only when this one is taken and replies are being taken too.

void ScanStream::AskForMore() {
  if (state_ != State::kOpen || failing_ || ticket_ != 0 || reading_) return;
  if (sink_->queued_bytes() > pipeline_.options_.reply_backlog) {
    backlogged_ = true;  // RepliesDrained() goes on
    return;
  }
  reading_ = true;
  since_ = pipeline_.options_.now();
  sink_->OnWantMore();
}

void ScanStream::RepliesDrained() {
  MutexLock lock(mutex_);
  if (!backlogged_ || state_ == State::kEnded) return;
  backlogged_ = false;
  if (message_.empty()) AskForMore();
}

}  // namespace keysieve::pipeline
