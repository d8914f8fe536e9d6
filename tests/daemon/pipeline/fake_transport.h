// SPDX-License-Identifier: MIT
// A pipeline with everything round it faked: a lane over a session that searches plainly, a rule
// set of one rule, a sink that keeps what it is told, and a clock that the test moves.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "daemon/detect/fingerprint.h"
#include "daemon/scan_pipeline.h"
#include "daemon/scheduler/lane.h"
#include "evidence/base/status.h"
#include "tests/daemon/scheduler/fake_session.h"

namespace keysieve::pipeline {

// One rule: "KEY=" and four bytes, which are the secret. Paths under vendor/ are allowed.
class OneRule : public detect::RuleSet {
 public:
  std::span<const detect::RuleInfo> rules() const override { return rules_; }
  std::span<const std::string> warnings() const override { return {}; }
  const std::string& digest() const override { return digest_; }
  const std::string& name() const override { return name_; }
  std::span<const megakernel::Literal> literals() const override { return literals_; }
  std::span<const detect::RulePlan> plans() const override { return plans_; }
  detect::Exclusion ExcludedByPath(std::string_view path) const override {
    return path.substr(0, 7) == "vendor/" ? detect::Exclusion::kAllowlistedPath
                                          : detect::Exclusion::kNone;
  }
  const detect::Fingerprinter& fingerprinter() const override { return names_; }
  detect::ScanOutcome ScanAll(const detect::BlobView& blob,
                              std::span<const megakernel::LiteralHit> hits,
                              const detect::ScanSettings&) const override {
    detect::ScanOutcome outcome;
    std::vector<detect::Finding>& findings = outcome.findings;
    for (const megakernel::LiteralHit& hit : hits) {
      if (hit.end + 4 > blob.bytes.size()) continue;
      detect::Finding f;
      f.match_start = hit.start;
      f.match_end = hit.end + 4;
      f.secret_start = hit.end;
      f.secret_end = hit.end + 4;
      f.match = std::string(blob.bytes.substr(hit.start, 8));
      f.secret = std::string(blob.bytes.substr(hit.end, 4));
      findings.push_back(std::move(f));
    }
    if (blob.bytes.starts_with("broken")) {
      outcome.uncovered.push_back({detect::Uncovered::Reason::kUndecodable, 2, 4, "two bytes"});
    }
    return outcome;
  }

 private:
  const detect::Fingerprinter names_{{}};
  const std::vector<detect::RuleInfo> rules_ = {{.id = "key"}};
  const std::vector<detect::RulePlan> plans_ = {{.route = detect::Route::kLiterals}};
  const std::vector<megakernel::Literal> literals_ = {{"KEY=", false}};
  const std::string digest_ = "d1";
  const std::string name_ = "one";
};

class FakeSink : public ScanSink {
 public:
  void OnAccepted(const Accepted& a) override {
    MutexLock lock(mutex_);
    accepted_ = a;
    literals_.assign(a.literals.begin(), a.literals.end());
    accepted_.literals = {};
    changed_.NotifyAll();
  }
  void OnBlob(BlobResult result) override {
    MutexLock lock(mutex_);
    blobs_.push_back(std::move(result));
    changed_.NotifyAll();
  }
  void OnHits(const HitsResult& result) override {
    MutexLock lock(mutex_);
    auto& hits = hits_[result.blob_id];
    hits.insert(hits.end(), result.hits.begin(), result.hits.end());
    if (result.last) receipts_[result.blob_id] = *result.receipt;
    changed_.NotifyAll();
  }
  void OnDone(const Summary& summary) override {
    MutexLock lock(mutex_);
    summary_ = summary;
    ++endings_;
    changed_.NotifyAll();
  }
  void OnFailed(const Failure& failure) override {
    MutexLock lock(mutex_);
    failure_ = failure;
    ++endings_;
    changed_.NotifyAll();
  }
  void OnWantMore() override {
    MutexLock lock(mutex_);
    ++wanted_;
    changed_.NotifyAll();
  }
  uint64_t queued_bytes() const override { return queued.load(); }
  std::optional<Clock::time_point> stalled_since() const override {
    MutexLock lock(mutex_);
    return stalled;
  }

  // Waits for the next demand; false if the stream ended instead.
  bool AwaitDemand() {
    MutexLock lock(mutex_);
    while (wanted_ == 0 && endings_ == 0) changed_.Wait(mutex_);
    if (wanted_ == 0) return false;
    --wanted_;
    return true;
  }
  void AwaitEnd() {
    MutexLock lock(mutex_);
    while (endings_ == 0) changed_.Wait(mutex_);
  }
  void AwaitBlobs(size_t n) {
    MutexLock lock(mutex_);
    while (blobs_.size() < n) changed_.Wait(mutex_);
  }
  bool wanted() const {
    MutexLock lock(mutex_);
    return wanted_ > 0;
  }
  int endings() const {
    MutexLock lock(mutex_);
    return endings_;
  }
  // For use once the stream has ended.
  Accepted accepted() const { return Read(accepted_); }
  std::vector<megakernel::Literal> literals() const { return Read(literals_); }
  std::vector<BlobResult> blobs() const { return Read(blobs_); }
  std::map<uint64_t, std::vector<megakernel::LiteralHit>> hits() const { return Read(hits_); }
  std::map<uint64_t, Receipt> receipts() const { return Read(receipts_); }
  std::optional<Summary> summary() const { return Read(summary_); }
  std::optional<Failure> failure() const { return Read(failure_); }
  void Stall(std::optional<Clock::time_point> since) {
    MutexLock lock(mutex_);
    stalled = since;
  }

  std::atomic<uint64_t> queued{0};

 private:
  template <typename T>
  T Read(const T& value) const {
    MutexLock lock(mutex_);
    return value;
  }
  mutable Mutex mutex_;
  CondVar changed_;
  int wanted_ = 0;
  int endings_ = 0;
  std::optional<Clock::time_point> stalled;
  Accepted accepted_;
  std::vector<megakernel::Literal> literals_;
  std::vector<BlobResult> blobs_;
  std::map<uint64_t, std::vector<megakernel::LiteralHit>> hits_;
  std::map<uint64_t, Receipt> receipts_;
  std::optional<Summary> summary_;
  std::optional<Failure> failure_;
};

class Bench {
 public:
  explicit Bench(PipelineOptions options = {.blob_limit = 1 << 20, .memory_limit = 8 << 20}) {
    options.compile =
        [this](std::span<const megakernel::Literal> literals) -> absl::StatusOr<megakernel::Table> {
      std::string digest = "t";
      for (const auto& l : literals) digest += Cat("/", l.bytes, l.ignore_case ? "i" : "");
      for (const auto& l : literals) {
        if (l.bytes.empty()) return absl::InvalidArgumentError("pattern 0 is empty");
      }
      return *script->AddTable(digest, {literals.begin(), literals.end()});
    };
    options.load_rules =
        [](const std::string& toml,
           bool extend_only) -> absl::StatusOr<std::shared_ptr<const detect::RuleSet>> {
      if (toml == "bad") return absl::InvalidArgumentError("request:1: no");
      if (toml == "weakens" && extend_only) return absl::InvalidArgumentError("request:1: adds");
      return std::make_shared<OneRule>();
    };
    options.now = [this] { return Clock::time_point(std::chrono::milliseconds(now_ms.load())); };
    LoadedRules rules{std::make_shared<OneRule>(), nullptr, true};
    rules.table = std::make_shared<megakernel::Table>(*options.compile(rules.rules->literals()));
    lane = std::make_unique<scheduler::Lane>(
        scheduler::LaneOptions{},
        scheduler::FakeOpener(script, {.batches = 2, .batch_bytes = 256 << 10}), nullptr);
    EXPECT_TRUE(lane->Start().ok());
    pipeline = std::make_unique<ScanPipeline>(options, *lane, workers, counters, log, rules);
  }
  ~Bench() { lane->Stop(); }

  std::shared_ptr<ScanStream> Open(const std::shared_ptr<FakeSink>& sink, Caller caller = {}) {
    auto opened = pipeline->Open(sink, std::move(caller));
    return std::get<std::shared_ptr<ScanStream>>(opened);
  }
  void Advance(int ms) { now_ms += ms; }

  std::atomic<int64_t> now_ms{1'000'000};
  std::shared_ptr<scheduler::FakeScript> script = std::make_shared<scheduler::FakeScript>();
  ScanCounters counters;
  Mutex log_mutex;
  std::vector<std::string> lines;
  config::Log log{config::LogLevel::kDebug, [this](const config::LogLine& line) {
                    MutexLock lock(log_mutex);
                    lines.push_back(config::ToJson(line));
                  }};
  scheduler::WorkerPool workers{2};
  std::unique_ptr<scheduler::Lane> lane;
  std::unique_ptr<ScanPipeline> pipeline;  // goes first
};

struct Blob {
  uint64_t id;
  std::string path;
  std::string bytes;
  bool declare = true;
};

// `blob` in chunks of at most `chunk` bytes.
inline std::vector<Chunk> Cut(const Blob& blob, size_t chunk) {
  std::vector<Chunk> chunks;
  for (size_t at = 0; at == 0 || at < blob.bytes.size(); at += chunk) {
    Chunk c{.blob_id = blob.id, .offset = at, .data = blob.bytes.substr(at, chunk)};
    if (at == 0) {
      c.path = blob.path;
      if (blob.declare) c.declared_size = blob.bytes.size();
    }
    c.last = at + chunk >= blob.bytes.size();
    chunks.push_back(std::move(c));
  }
  return chunks;
}

// Sends everything as a client would, `per_message` chunks a message, and waits for the end.
inline void Send(ScanStream& stream, FakeSink& sink, const std::vector<Blob>& blobs, size_t chunk,
                 size_t per_message = 1) {
  std::vector<Chunk> message;
  for (const Blob& blob : blobs) {
    for (Chunk& c : Cut(blob, chunk)) {
      message.push_back(std::move(c));
      if (message.size() < per_message) continue;
      if (!sink.AwaitDemand()) return sink.AwaitEnd();
      stream.Message(std::move(message));
      message.clear();
    }
  }
  if (!message.empty()) {
    if (!sink.AwaitDemand()) return sink.AwaitEnd();
    stream.Message(std::move(message));
  }
  if (sink.AwaitDemand()) stream.HalfClose();
  sink.AwaitEnd();
}

}  // namespace keysieve::pipeline
