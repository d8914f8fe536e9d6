// SPDX-License-Identifier: MIT
// The journey of a chunk, top to bottom: a message's chunks, admission, assembly, the lane,
// confirming, the reply. What begins a stream stands in scan_start.cc, what ends it in
// scan_streams.cc.
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

// ---- 1. A message: its chunks one by one, stopping where memory must be waited for.

void ScanStream::Message(std::vector<Chunk> chunks) {
  MutexLock lock(mutex_);
  if (state_ == State::kEnded || failing_) return;
  since_ = pipeline_.options_.now();
  reading_ = false;
  uint64_t bytes = 0;
  for (const Chunk& chunk : chunks) bytes += chunk.data.size();
  if (bytes > kMaxMessageBytes) {
    return FailSoon({.code = absl::StatusCode::kInvalidArgument,
                     .reason = "MESSAGE_TOO_LARGE",
                     .message = Cat("chunks of ", bytes,
                                    " bytes in one message exceed the limit of ", kMaxMessageBytes),
                     .field = "chunks"});
  }
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

// ---- 2. Admission: the whole blob's memory, or a place in the queue.

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

// ---- 3. The blob is whole: to the lane, unless it was left out.

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

// ---- 4. Hits are back: confirm them (on a worker), redact, reply with a receipt.

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

// What detection could not read is a gap of the receipt.
void AddGaps(std::vector<detect::Uncovered> uncovered, Receipt* receipt) {
  for (detect::Uncovered& part : uncovered) {
    const bool limit = part.reason == detect::Uncovered::Reason::kDecodeLimit;
    receipt->gaps.push_back({.reason = limit ? Reason::kDecodeLimit : Reason::kUndecodable,
                             .start = part.start,
                             .end = part.end,
                             .detail = std::move(part.detail)});
  }
}

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
  std::shared_ptr<const detect::suppress::Ignores> ignores;
  detect::ScanSettings settings;
  bool show = false;
  {
    MutexLock lock(mutex_);
    loaded = loaded_;
    ignores = ignores_;
    settings = settings_;
    show = show_secrets_;
  }
  const std::span<const uint8_t> bytes = blob.bytes->view();
  const detect::BlobView view{.path = blob.path,
                              .bytes = {reinterpret_cast<const char*>(bytes.data()), bytes.size()},
                              .commit = blob.commit};
  detect::ScanOutcome found = loaded.rules->ScanAll(view, outcome.hits, settings);
  BlobResult result{.blob_id = blob.id,
                    .rules = loaded.rules,
                    .findings = std::move(found.findings),
                    .receipt = WholeReceipt(blob, outcome)};
  AddGaps(std::move(found.uncovered), &result.receipt);
  if (ignores != nullptr) ignores->Mark(blob.path, blob.commit, *loaded.rules, result.findings);
  if (!show) detect::RedactFindings(result.findings);
  blob.bytes.reset();  // its memory is free before anyone reads the reply
  result.path = std::move(blob.path);
  result.commit = std::move(blob.commit);
  uint64_t counting = 0;
  for (const detect::Finding& finding : result.findings) {
    if (!finding.suppressed_by.empty()) continue;
    ++counting;
    pipeline_.counters_.Found(loaded.is_default ? loaded.rules->rules()[finding.rule].id : "other");
  }
  MutexLock lock(mutex_);
  --outstanding_;
  if (state_ == State::kEnded) return;
  Charge(outcome);
  Account(result.receipt, counting, blob.whole_since);
  summary_.suppressed += result.findings.size() - counting;
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
  if (WasScanned(receipt)) {
    const std::string route(backends::BackendName(receipt.route));
    counters.Scanned(route, receipt.scanned_bytes);
    counters.TenantScanned(Tenant(), receipt.scanned_bytes);
    summary_.route_bytes[route] += receipt.scanned_bytes;
  }
}

// ---- 5. The next message is read only when this one is taken and replies are being taken too.

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
