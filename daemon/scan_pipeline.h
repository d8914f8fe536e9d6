// SPDX-License-Identifier: MIT
// A chunk's journey, from transport's hands to the reply: admission, assembly, the lane,
// confirming, redaction, receipt. A stream is one Scan or Match call; the pipeline owns what
// streams share. No gRPC: transport feeds a stream and implements its sink.
//
//   auto stream = pipeline.Open(sink, caller);      // or a Failure
//   stream->StartScan(options);                     // then, at each OnWantMore():
//   stream->Message(chunks);  ...  stream->HalfClose();
//
// Streams never block their caller. Work goes on in the lanes and the worker pool.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "daemon/blob_assembly.h"
#include "daemon/config/log.h"
#include "daemon/detect/rule_set.h"
#include "daemon/scan_counters.h"
#include "daemon/scan_types.h"
#include "daemon/scheduler/admission.h"
#include "daemon/scheduler/matcher.h"
#include "daemon/scheduler/worker_pool.h"
#include "evidence/base/mutex.h"
#include "evidence/recorder.h"

namespace keysieve::pipeline {

class ScanPipeline;

// A rule set with its literals compiled. `table` is null where a set has none.
struct LoadedRules {
  std::shared_ptr<const detect::RuleSet> rules;
  std::shared_ptr<const megakernel::Table> table;
  bool is_default = false;  // the daemon's own: its rules are metric labels
  std::chrono::system_clock::time_point loaded_at = std::chrono::system_clock::now();
};

// What rules a caller may bring who is not the daemon's own user, who may bring any.
enum class CallerRules : uint8_t {
  kNone,    // none
  kExtend,  // some of their own besides the daemon's, which stay in force
  kAny,     // instead of them
};

struct PipelineOptions {
  uint64_t blob_limit = 64 << 20;     // bytes
  uint64_t memory_limit = 512 << 20;  // bytes
  uint32_t max_streams = 1024;
  std::chrono::milliseconds idle{60000};         // silence that ends a stream
  std::chrono::milliseconds memory_wait{60000};  // for a blob's reservation
  std::chrono::milliseconds stall{60000};        // a reply nobody takes
  uint64_t reply_backlog = 4 << 20;        // queued replies past which no more chunks are read
  uint64_t max_hits = 8 << 20;             // of one blob in Match
  evidence::Recorder* recorder = nullptr;  // of profiled scans; null: profiles are unavailable
  std::function<absl::StatusOr<megakernel::Table>(std::span<const megakernel::Literal>)> compile;
  uint32_t decode_depth = 5;  // the most a caller may ask for, and what is meant by silence
  bool inline_allow = true;   // allow comments suppress
  bool take_ignores = true;   // callers may send baselines and ignore files
  CallerRules caller_rules = CallerRules::kExtend;
  // A caller's own rule text. With `extend_only` it lies over the daemon's rules and may add to
  // them, nothing else.
  std::function<absl::StatusOr<std::shared_ptr<const detect::RuleSet>>(const std::string& toml,
                                                                       bool extend_only)>
      load_rules;
  std::function<Clock::time_point()> now = [] { return Clock::now(); };
};

class ScanStream : public std::enable_shared_from_this<ScanStream> {
 public:
  ScanStream(ScanPipeline& pipeline, std::shared_ptr<ScanSink> sink, Caller caller, uint64_t id,
             std::string scan_id);
  ~ScanStream();

  // The first message, exactly once.
  void StartScan(ScanOptions options);
  void StartMatch(MatchOptions options);
  // One message's chunks, after an OnWantMore().
  void Message(std::vector<Chunk> chunks);
  // The caller sends no more.
  void HalfClose();
  // The caller is gone: work in flight is dropped, nothing more is replied.
  void Cancel();
  // Ends the stream from this side, after the results still under way.
  void Fail(Failure failure);
  // The sink's queue fell below the backlog.
  void RepliesDrained();
  // Applies the time limits.
  void Tick(Clock::time_point now);

 private:
  friend class ScanPipeline;
  enum class State : uint8_t { kOptions, kPreparing, kOpen, kHalfClosed, kEnded };
  enum class Taken : uint8_t { kYes, kWait, kFailed };

  // What must be there before chunks are read.
  struct Preparation {
    LoadedRules rules;
    std::shared_ptr<const detect::suppress::Ignores> ignores;
    absl::Status ignores_read;
    std::vector<std::string> warnings;
  };

  std::optional<Failure> Forbidden(const ScanOptions& options) const;
  void Prepare(std::function<absl::StatusOr<Preparation>()> work, bool named)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Prepared(absl::StatusOr<Preparation> ready, bool named);
  void Advance() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Taken TakeChunk(Chunk& chunk) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Taken Begin(Chunk& chunk) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Taken Admit() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool Furnish(scheduler::Reservation reservation) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Granted(scheduler::Reservation reservation);
  void Complete() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Confirm(IncomingBlob blob, scheduler::MatchOutcome outcome);
  void ReplyBlob(IncomingBlob blob, scheduler::MatchOutcome outcome);
  void ReplyHits(IncomingBlob blob, scheduler::MatchOutcome outcome);
  void ReplyOmitted(IncomingBlob blob) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void BeginProfile() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void EndProfile() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Charge(const scheduler::MatchOutcome& outcome) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Account(const Receipt& receipt, uint64_t findings, Clock::time_point whole_since)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void AskForMore() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void FailSoon(Failure failure) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void FailNow(Failure failure) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void EndIfDone() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void End(std::string_view result, const std::string& message)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::string Tenant() const { return caller_.tenant.empty() ? "anonymous" : caller_.tenant; }
  void Deny(std::string_view what) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  ScanPipeline& pipeline_;
  const Caller caller_;
  const uint64_t id_;
  const std::string scan_id_;
  const Clock::time_point began_;
  const std::shared_ptr<std::atomic<bool>> cancelled_ = std::make_shared<std::atomic<bool>>(false);

  mutable Mutex mutex_;
  std::shared_ptr<ScanSink> sink_ ABSL_GUARDED_BY(mutex_);
  State state_ ABSL_GUARDED_BY(mutex_) = State::kOptions;
  bool matching_ ABSL_GUARDED_BY(mutex_) = false;  // Match, not Scan
  bool show_secrets_ ABSL_GUARDED_BY(mutex_) = false;
  std::string label_ ABSL_GUARDED_BY(mutex_);
  detect::ScanSettings settings_ ABSL_GUARDED_BY(mutex_);
  LoadedRules loaded_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<const detect::suppress::Ignores> ignores_ ABSL_GUARDED_BY(mutex_);
  std::vector<Chunk> message_ ABSL_GUARDED_BY(mutex_);
  size_t position_ ABSL_GUARDED_BY(mutex_) = 0;   // next chunk of message_
  bool reading_ ABSL_GUARDED_BY(mutex_) = false;  // a message was asked for
  bool backlogged_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<IncomingBlob> blob_ ABSL_GUARDED_BY(mutex_);
  SeenIds seen_ ABSL_GUARDED_BY(mutex_);
  uint64_t ticket_ ABSL_GUARDED_BY(mutex_) = 0;       // waiting for memory
  Clock::time_point since_ ABSL_GUARDED_BY(mutex_);   // last sign of life, or the wait's begin
  uint64_t outstanding_ ABSL_GUARDED_BY(mutex_) = 0;  // blobs in lanes or workers
  std::optional<Failure> failing_ ABSL_GUARDED_BY(mutex_);
  Summary summary_ ABSL_GUARDED_BY(mutex_);
  // Of a profiled scan; kProcess for every other one.
  evidence::ContextId profile_ ABSL_GUARDED_BY(mutex_) = evidence::ContextId::kProcess;
};

class ScanPipeline {
 public:
  // All references outlive the pipeline; the pipeline outlives its streams.
  ScanPipeline(PipelineOptions options, scheduler::Matcher& matcher, scheduler::WorkerPool& workers,
               ScanCounters& counters, const config::Log& log, LoadedRules rules);
  // Waits until nobody holds a stream: lanes and workers must be running or drained.
  ~ScanPipeline();

  // A new stream, or why not: too many streams, or draining.
  std::variant<std::shared_ptr<ScanStream>, Failure> Open(std::shared_ptr<ScanSink> sink,
                                                          Caller caller);

  // Applies every stream's time limits; a few times a second.
  void Tick();
  // Refuses new streams from now on.
  void Drain() { draining_.store(true); }
  // Ends every open stream with UNAVAILABLE.
  void Abort(const std::string& why);

  bool draining() const { return draining_.load(); }
  uint32_t streams() const;
  uint64_t memory_in_use() const { return admission_->in_use_bytes(); }
  const PipelineOptions& options() const { return options_; }
  LoadedRules rules() const;

 private:
  friend class ScanStream;

  std::vector<std::shared_ptr<ScanStream>> Streams() const;
  void Ended(uint64_t id);
  void Gone();
  absl::StatusOr<LoadedRules> NamedRules(const std::string& name);
  absl::StatusOr<LoadedRules> OwnRules(const std::string& toml, bool extend_only);
  std::string NewScanId(uint64_t id) const;

  const PipelineOptions options_;
  scheduler::Matcher& matcher_;
  scheduler::WorkerPool& workers_;
  ScanCounters& counters_;
  const config::Log& log_;
  const std::shared_ptr<scheduler::Admission> admission_;
  std::atomic<bool> draining_{false};
  const uint64_t instance_;  // tells this process's scan ids from another's

  mutable Mutex mutex_;
  CondVar quiet_;
  LoadedRules rules_ ABSL_GUARDED_BY(mutex_);
  uint64_t alive_ ABSL_GUARDED_BY(mutex_) = 0;  // stream objects, ended ones too
  uint64_t next_stream_ ABSL_GUARDED_BY(mutex_) = 1;
  std::unordered_map<uint64_t, std::weak_ptr<ScanStream>> open_ ABSL_GUARDED_BY(mutex_);
  struct OwnRuleSet {
    std::string toml;
    bool extend_only = false;
    LoadedRules loaded;
  };
  std::vector<OwnRuleSet> own_rules_ ABSL_GUARDED_BY(mutex_);  // newest last
};

}  // namespace keysieve::pipeline
