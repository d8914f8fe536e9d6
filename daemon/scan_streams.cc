// SPDX-License-Identifier: MIT
// What streams share and what ends them: opening, time limits, failures, the summary, the log line.
#include <random>

#include "daemon/scan_pipeline.h"
#include "evidence/base/status.h"

namespace keysieve::pipeline {
namespace {

constexpr size_t kOwnRuleSets = 8;  // callers' rule texts kept compiled
constexpr std::chrono::milliseconds kRetrySoon(1000);

double Seconds(Clock::duration d) { return std::chrono::duration<double>(d).count(); }

std::string Lower(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

}  // namespace

ScanPipeline::ScanPipeline(PipelineOptions options, scheduler::Matcher& matcher,
                           scheduler::WorkerPool& workers, ScanCounters& counters,
                           const config::Log& log, LoadedRules rules)
    : options_(std::move(options)),
      matcher_(matcher),
      workers_(workers),
      counters_(counters),
      log_(log),
      admission_(std::make_shared<scheduler::Admission>(
          options_.memory_limit,
          [&workers](std::function<void()> task) { workers.Post(0, std::move(task)); })),
      instance_(std::random_device()()),
      rules_(std::move(rules)) {}

ScanPipeline::~ScanPipeline() {
  MutexLock lock(mutex_);
  while (alive_ > 0) quiet_.Wait(mutex_);
}

std::variant<std::shared_ptr<ScanStream>, Failure> ScanPipeline::Open(
    std::shared_ptr<ScanSink> sink, Caller caller) {
  if (draining()) {
    counters_.Rejected("draining");
    return Failure{.code = absl::StatusCode::kUnavailable,
                   .reason = "DRAINING",
                   .message = "the daemon is shutting down and takes no new scans",
                   .retry_after = kRetrySoon};
  }
  MutexLock lock(mutex_);
  if (open_.size() >= options_.max_streams) {
    counters_.Rejected("streams");
    return Failure{.code = absl::StatusCode::kResourceExhausted,
                   .reason = "STREAM_LIMIT",
                   .message = Cat("all ", options_.max_streams,
                                  " streams (limits.streams) are taken; try again"),
                   .retry_after = kRetrySoon};
  }
  const uint64_t id = next_stream_++;
  ++alive_;
  auto stream =
      std::make_shared<ScanStream>(*this, std::move(sink), std::move(caller), id, NewScanId(id));
  open_.emplace(id, stream);
  return stream;
}

std::string ScanPipeline::NewScanId(uint64_t id) const {
  char text[32];
  std::snprintf(text, sizeof(text), "%08llx-%llu", static_cast<unsigned long long>(instance_),
                static_cast<unsigned long long>(id));
  return text;
}

LoadedRules ScanPipeline::rules() const {
  MutexLock lock(mutex_);
  return rules_;
}

absl::StatusOr<LoadedRules> ScanPipeline::NamedRules(const std::string& name) {
  LoadedRules loaded = rules();
  if (name.empty() || name == "default" || name == loaded.rules->name()) return loaded;
  return absl::NotFoundError(Cat("no rule set is named \"", name.substr(0, 64),
                                 "\"; this daemon has \"", loaded.rules->name(),
                                 "\" (also \"default\")"));
}

absl::StatusOr<LoadedRules> ScanPipeline::OwnRules(const std::string& toml, bool extend_only) {
  {
    MutexLock lock(mutex_);
    for (const OwnRuleSet& own : own_rules_) {
      if (own.toml == toml && own.extend_only == extend_only) return own.loaded;
    }
  }
  LoadedRules loaded;
  KS_ASSIGN_OR_RETURN(loaded.rules, options_.load_rules(toml, extend_only));
  if (!loaded.rules->literals().empty()) {
    KS_ASSIGN_OR_RETURN(auto table, options_.compile(loaded.rules->literals()));
    loaded.table = std::make_shared<const megakernel::Table>(std::move(table));
  }
  MutexLock lock(mutex_);
  own_rules_.push_back({toml, extend_only, loaded});
  if (own_rules_.size() > kOwnRuleSets) own_rules_.erase(own_rules_.begin());
  return loaded;
}

uint32_t ScanPipeline::streams() const {
  MutexLock lock(mutex_);
  return static_cast<uint32_t>(open_.size());
}

std::vector<std::shared_ptr<ScanStream>> ScanPipeline::Streams() const {
  MutexLock lock(mutex_);
  std::vector<std::shared_ptr<ScanStream>> streams;
  for (const auto& [id, weak] : open_) {
    if (auto stream = weak.lock()) streams.push_back(std::move(stream));
  }
  return streams;
}

void ScanPipeline::Tick() {
  const Clock::time_point now = options_.now();
  for (const auto& stream : Streams()) stream->Tick(now);
}

void ScanPipeline::Abort(const std::string& why) {
  for (const auto& stream : Streams()) {
    MutexLock lock(stream->mutex_);
    stream->FailNow({.code = absl::StatusCode::kUnavailable,
                     .reason = "DRAINING",
                     .message = why,
                     .retry_after = kRetrySoon});
  }
}

void ScanPipeline::Ended(uint64_t id) {
  MutexLock lock(mutex_);
  open_.erase(id);
}

void ScanPipeline::Gone() {
  MutexLock lock(mutex_);
  if (--alive_ == 0) quiet_.NotifyAll();
}

// ---- One stream.

ScanStream::ScanStream(ScanPipeline& pipeline, std::shared_ptr<ScanSink> sink, Caller caller,
                       uint64_t id, std::string scan_id)
    : pipeline_(pipeline),
      caller_(std::move(caller)),
      id_(id),
      scan_id_(std::move(scan_id)),
      began_(pipeline.options_.now()),
      sink_(std::move(sink)),
      since_(began_) {}

ScanStream::~ScanStream() { pipeline_.Gone(); }

void ScanStream::HalfClose() {
  MutexLock lock(mutex_);
  if (state_ == State::kEnded || failing_) return;
  reading_ = false;
  if (state_ == State::kOptions || state_ == State::kPreparing) {
    return FailSoon({.code = absl::StatusCode::kInvalidArgument,
                     .reason = "OPTIONS_FIRST",
                     .message = "the stream ended before its options",
                     .field = "options"});
  }
  if (blob_) {
    const std::string of = blob_->declared ? Cat(" of ", *blob_->declared) : "";
    return FailSoon(BadChunk(
        blob_->id, "last",
        Cat("the stream ended after ", blob_->received, of, " bytes, before its last chunk")));
  }
  state_ = State::kHalfClosed;
  EndIfDone();
}

void ScanStream::Cancel() {
  MutexLock lock(mutex_);
  if (state_ != State::kEnded) End("cancelled", "the caller went away");
}

void ScanStream::Fail(Failure failure) {
  MutexLock lock(mutex_);
  if (state_ != State::kEnded && !failing_) FailSoon(std::move(failure));
}

void ScanStream::Deny(std::string_view what) {
  pipeline_.counters_.Rejected("permission");
  FailSoon({.code = absl::StatusCode::kPermissionDenied,
            .reason = "NOT_THE_OWNER",
            .message = Cat(what, " is granted only to the daemon's own user on its Unix socket; ",
                           caller_.why_not),
            .field = Cat("options.", what)});
}

void ScanStream::Tick(Clock::time_point now) {
  MutexLock lock(mutex_);
  if (state_ == State::kEnded) return;
  const PipelineOptions& options = pipeline_.options_;
  const auto stalled = sink_->stalled_since();
  if (stalled && now - *stalled > options.stall) {
    return FailNow({.code = absl::StatusCode::kAborted,
                    .reason = "REPLIES_NOT_READ",
                    .message = Cat("replies were not read for ", Seconds(options.stall),
                                   " s; read while you write")});
  }
  if (failing_) return;
  if (ticket_ != 0) {
    if (now - since_ <= options.memory_wait) return;
    pipeline_.counters_.Rejected("memory");
    return FailNow(
        {.code = absl::StatusCode::kResourceExhausted,
         .reason = "BLOB_MEMORY",
         .message = Cat("no memory for blob ", blob_->id, " within ", Seconds(options.memory_wait),
                        " s; limits.memory_bytes is ", options.memory_limit),
         .retry_after = kRetrySoon});
  }
  // While a reply is on its way out it is that clock which runs.
  const bool waits_for_caller = !stalled && (reading_ || state_ == State::kOptions);
  if (waits_for_caller && outstanding_ == 0 && now - since_ > options.idle) {
    const std::string where =
        blob_ ? Cat("; blob ", blob_->id, " had ", blob_->received, " bytes") : "";
    FailNow({.code = absl::StatusCode::kDeadlineExceeded,
             .reason = "IDLE",
             .message =
                 Cat("no message came for ", Seconds(options.idle), " s (limits.idle_s)", where)});
  }
}

// Ends the stream after what is under way has been answered, so that nothing whole is lost.
void ScanStream::FailSoon(Failure failure) {
  failing_ = std::move(failure);
  blob_.reset();
  message_.clear();
  position_ = 0;
  EndIfDone();
}

void ScanStream::FailNow(Failure failure) {
  if (state_ == State::kEnded) return;
  failing_ = std::move(failure);
  outstanding_ = 0;
  EndIfDone();
}

void ScanStream::EndIfDone() {
  if (state_ == State::kEnded || outstanding_ > 0) return;
  if (failing_) {
    const auto sink = sink_;
    const Failure failure = *std::move(failing_);
    End(Lower(failure.reason), failure.message);
    sink->OnFailed(failure);
    return;
  }
  if (state_ != State::kHalfClosed) return;
  summary_.wall_seconds = Seconds(pipeline_.options_.now() - began_);
  EndProfile();
  const auto sink = sink_;
  const Summary summary = summary_;
  End(summary.complete ? "complete" : "incomplete", "");
  sink->OnDone(summary);
}

// ---- A profiled scan: its own context from the options to the end.

void ScanStream::BeginProfile() {
  summary_.profile.emplace();
  if (pipeline_.options_.recorder == nullptr) {
    summary_.profile->unavailable = "this daemon records no profiles";
    return;
  }
  const auto context = pipeline_.options_.recorder->OpenContext();
  if (context.ok()) {
    profile_ = *context;
  } else {  // the scan itself is none the worse for it
    summary_.profile->unavailable = keysieve::Message(context.status());
  }
}

void ScanStream::EndProfile() {
  if (profile_ == evidence::ContextId::kProcess) return;
  auto record = pipeline_.options_.recorder->CloseContext(profile_);
  profile_ = evidence::ContextId::kProcess;
  if (record.ok()) summary_.profile->record = *std::move(record);
}

void ScanStream::Charge(const scheduler::MatchOutcome& outcome) {
  if (outcome.device_ns == 0) return;
  const std::string route(backends::BackendName(outcome.route));
  if (summary_.profile) summary_.profile->device_ns[route] += outcome.device_ns;
  pipeline_.counters_.TenantCharged(Tenant(), route, outcome.device_ns);
}

void ScanStream::End(std::string_view result, const std::string& message) {
  state_ = State::kEnded;
  cancelled_->store(true);  // whatever is still under way is dropped
  if (ticket_ != 0) pipeline_.admission_->Cancel(ticket_);
  ticket_ = 0;
  EndProfile();
  blob_.reset();
  message_.clear();
  sink_.reset();
  std::string label_text = label_;
  pipeline_.counters_.Scan(result);
  std::vector<config::LogField> fields = {{"scan_id", scan_id_},
                                          {"result", result},
                                          {"peer", caller_.peer},
                                          {"tenant", Tenant()},
                                          {"label", label_text},
                                          {"blobs", summary_.blobs},
                                          {"bytes", summary_.bytes},
                                          {"scanned_bytes", summary_.scanned_bytes},
                                          {"findings", summary_.findings},
                                          {"gaps", summary_.gaps},
                                          {"exclusions", summary_.exclusions},
                                          {"rules", summary_.rule_digest.substr(0, 12)},
                                          {"seconds", Seconds(pipeline_.options_.now() - began_)}};
  if (!caller_.trace_id.empty()) fields.emplace_back("trace_id", caller_.trace_id);
  pipeline_.log_.Info(matching_ ? "match" : "scan", message, std::move(fields));
  pipeline_.Ended(id_);
}

}  // namespace keysieve::pipeline
