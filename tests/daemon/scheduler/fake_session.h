// SPDX-License-Identifier: MIT
// A session without a device, for lanes and pipelines: it matches with a plain search and fails
// when the script says so. A test holds the script; the lane thread owns the session.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "daemon/scheduler/lane.h"
#include "evidence/base/mutex.h"
#include "evidence/base/status.h"
#include "megakernel/session.h"

namespace keysieve::scheduler {

using megakernel::Literal;
using megakernel::LiteralHit;

// Every occurrence by comparing at every place.
inline std::vector<LiteralHit> NaiveHits(std::span<const uint8_t> text,
                                         const std::vector<Literal>& literals) {
  const auto lower = [](uint8_t c) { return c >= 'A' && c <= 'Z' ? c + 32 : c; };
  std::vector<LiteralHit> hits;
  for (size_t at = 0; at < text.size(); ++at) {
    for (uint32_t p = 0; p < literals.size(); ++p) {
      const std::string& want = literals[p].bytes;
      if (want.size() > text.size() - at) continue;
      bool same = true;
      for (size_t i = 0; i < want.size() && same; ++i) {
        const auto a = text[at + i];
        const auto b = static_cast<uint8_t>(want[i]);
        same = literals[p].ignore_case ? lower(a) == lower(b) : a == b;
      }
      if (same) hits.push_back({at, at + want.size(), p});
    }
  }
  std::sort(hits.begin(), hits.end());
  return hits;
}

// Shared between a test and its fake sessions.
struct FakeScript {
  Mutex mutex;
  std::map<std::string, std::vector<Literal>> literals ABSL_GUARDED_BY(mutex);  // by digest
  // Called for each batch as it is collected, with its number from 0; not OK = Next() fails so.
  std::function<absl::Status(uint64_t)> fate ABSL_GUARDED_BY(mutex);
  std::function<absl::Status(uint64_t)> submit_fate ABSL_GUARDED_BY(mutex);
  // Called by Next() with nothing held; may block, as a call into a driver may.
  std::function<void()> before_next ABSL_GUARDED_BY(mutex);
  // While it returns false, Next() runs into its deadline.
  std::function<bool()> may_finish ABSL_GUARDED_BY(mutex);
  uint32_t max_pieces ABSL_GUARDED_BY(mutex) = UINT32_MAX;  // of all batches in flight
  // What happened.
  uint64_t submitted ABSL_GUARDED_BY(mutex) = 0;
  uint64_t retried ABSL_GUARDED_BY(mutex) = 0;
  uint64_t max_in_flight ABSL_GUARDED_BY(mutex) = 0;
  uint64_t tables_loaded ABSL_GUARDED_BY(mutex) = 0;
  uint64_t tables_evicted ABSL_GUARDED_BY(mutex) = 0;
  bool shut_down ABSL_GUARDED_BY(mutex) = false;
  std::vector<std::vector<size_t>> batch_pieces ABSL_GUARDED_BY(mutex);  // owned bytes, by batch

  std::shared_ptr<const megakernel::Table> AddTable(const std::string& digest,
                                                    std::vector<Literal> list, size_t words = 256) {
    auto table = std::make_shared<megakernel::Table>();
    table->words.resize(words);
    table->literal_count = static_cast<uint32_t>(list.size());
    for (const Literal& l : list) {
      table->max_literal_bytes =
          std::max(table->max_literal_bytes, static_cast<uint32_t>(l.bytes.size()));
    }
    table->digest = digest;
    MutexLock lock(mutex);
    literals[digest] = std::move(list);
    return table;
  }
};

class FakeSession : public megakernel::Session {
 public:
  FakeSession(std::shared_ptr<FakeScript> script, megakernel::Geometry geometry)
      : script_(std::move(script)), geometry_(geometry) {}

  absl::StatusOr<megakernel::TableHandle> LoadTable(const megakernel::Table& table) override {
    const uint64_t bytes = table.words.size() * 4;
    if (arena_used_ + bytes > geometry_.table_bytes) {
      return absl::ResourceExhaustedError("arena full");
    }
    arena_used_ += bytes;
    tables_[++next_table_] = {table.digest, bytes};
    MutexLock lock(script_->mutex);
    ++script_->tables_loaded;
    return megakernel::TableHandle{next_table_, 1};
  }
  absl::Status EvictTable(megakernel::TableHandle handle) override {
    const auto it = tables_.find(handle.id);
    if (it == tables_.end()) return absl::NotFoundError("stale handle");
    arena_used_ -= it->second.second;
    tables_.erase(it);
    MutexLock lock(script_->mutex);
    ++script_->tables_evicted;
    return absl::OkStatus();
  }
  absl::StatusOr<megakernel::BatchId> Submit(const megakernel::Batch& batch) override {
    MutexLock lock(script_->mutex);
    const auto table = tables_.find(batch.table.id);
    if (table == tables_.end()) return absl::InvalidArgumentError("stale table");
    uint64_t bytes = 0;
    for (const auto& piece : batch.pieces) bytes += piece.text.size();
    if (bytes > geometry_.batch_bytes) return absl::InvalidArgumentError("piece over the batch");
    if (in_flight_.size() >= geometry_.batches ||
        pieces_ + batch.pieces.size() > script_->max_pieces) {
      return absl::ResourceExhaustedError("no slots");
    }
    const uint64_t number = script_->submitted;
    if (script_->submit_fate) KS_RETURN_IF_ERROR(script_->submit_fate(number));
    ++script_->submitted;
    if (batch.attempt > 0) ++script_->retried;
    Pending pending{.number = number};
    pending.result.id = ++next_batch_;
    std::vector<size_t> owned;
    for (const auto& piece : batch.pieces) {
      owned.push_back(piece.owned_end - piece.owned_begin);
      auto hits = NaiveHits(piece.text, script_->literals[table->second.first]);
      std::erase_if(hits, [&](const LiteralHit& h) {
        return h.start < piece.owned_begin || h.start >= piece.owned_end;
      });
      pending.result.hits.push_back(std::move(hits));
    }
    pieces_ += batch.pieces.size();
    script_->batch_pieces.push_back(std::move(owned));
    in_flight_.push_back(std::move(pending));
    script_->max_in_flight = std::max<uint64_t>(script_->max_in_flight, in_flight_.size());
    return next_batch_;
  }
  absl::Status Flush() override { return absl::OkStatus(); }
  absl::StatusOr<megakernel::BatchResult> Next(backends::Clock::time_point deadline) override {
    if (in_flight_.empty()) return absl::NotFoundError("nothing in flight");
    std::function<void()> before;
    {
      MutexLock lock(script_->mutex);
      before = script_->before_next;
    }
    if (before) before();
    MutexLock lock(script_->mutex);
    if (script_->may_finish && !script_->may_finish()) {
      CondVar never;
      never.WaitUntil(script_->mutex, deadline);
      return absl::DeadlineExceededError("still running");
    }
    Pending pending = std::move(in_flight_.front());
    in_flight_.pop_front();
    pieces_ -= pending.result.hits.size();
    if (script_->fate) {
      const absl::Status fate = script_->fate(pending.number);
      ended_ = absl::IsDataLoss(fate);
      KS_RETURN_IF_ERROR(fate);
    }
    return std::move(pending.result);
  }
  uint32_t batches_in_flight() const override { return static_cast<uint32_t>(in_flight_.size()); }
  const megakernel::Geometry& geometry() const override { return geometry_; }
  uint64_t resident_bytes() const override { return 12345; }
  bool ended() const override { return ended_; }
  uint32_t max_pieces() const override { return 4096; }
  const megakernel::SessionStats& stats() const override { return stats_; }
  std::vector<std::string> TakeDebugLog() override { return {}; }
  absl::Status Shutdown(backends::Clock::time_point) override {
    MutexLock lock(script_->mutex);
    script_->shut_down = true;
    return absl::OkStatus();
  }

 private:
  struct Pending {
    uint64_t number = 0;
    megakernel::BatchResult result;
  };

  std::shared_ptr<FakeScript> script_;
  megakernel::Geometry geometry_;
  std::map<uint32_t, std::pair<std::string, uint64_t>> tables_;  // id -> digest, bytes
  uint32_t next_table_ = 0;
  uint64_t arena_used_ = 0;
  std::deque<Pending> in_flight_;
  size_t pieces_ = 0;
  megakernel::BatchId next_batch_ = 0;
  bool ended_ = false;
  megakernel::SessionStats stats_;
};

inline LaneOpener FakeOpener(std::shared_ptr<FakeScript> script, megakernel::Geometry geometry) {
  return [script, geometry]() -> absl::StatusOr<LaneParts> {
    return LaneParts{nullptr, std::make_unique<FakeSession>(script, geometry)};
  };
}

// Counts what a lane reports.
class CountingRecorder : public evidence::ScanRecorder {
 public:
  void Submitted() override {}
  void Completed(const evidence::DispatchRecord&) override {}
  void Allocated(uint64_t) override {}
  void Freed(uint64_t) override {}
  void Compiled(uint64_t) override {}
  void PipelineCache(bool) override {}
  void Fault(evidence::FaultKind) override { ++faults; }
  void Retried(uint32_t attempt) override { retries += attempt; }
  void Recovered() override { ++recoveries; }
  void ResidualBatch() override { ++residual; }
  void OverflowReplayed() override {}
  void Quarantined() override { ++quarantines; }
  void Observed(std::optional<double>, std::optional<double>) override {}
  void Busy(uint64_t) override {}
  std::atomic<uint64_t> faults{0}, retries{0}, recoveries{0}, residual{0}, quarantines{0};
};

// A blob of its own and a place for its outcome.
class Waiting {
 public:
  MatchJob Job(std::string bytes, std::shared_ptr<const megakernel::Table> table,
               uint64_t request = 1) {
    auto owner = std::make_shared<std::string>(std::move(bytes));
    MatchJob job;
    job.bytes = {reinterpret_cast<const uint8_t*>(owner->data()), owner->size()};
    job.owner = owner;
    job.table = std::move(table);
    job.request = request;
    job.done = [state = state_](MatchOutcome outcome) {
      MutexLock lock(state->mutex);
      ++state->calls;
      state->outcome = std::move(outcome);
      state->ready.NotifyAll();
    };
    return job;
  }
  MatchOutcome Get() {
    MutexLock lock(state_->mutex);
    while (state_->calls == 0) state_->ready.Wait(state_->mutex);
    return state_->outcome;
  }
  int calls() {
    MutexLock lock(state_->mutex);
    return state_->calls;
  }

 private:
  struct State {
    Mutex mutex;
    CondVar ready;
    int calls ABSL_GUARDED_BY(mutex) = 0;
    MatchOutcome outcome ABSL_GUARDED_BY(mutex);
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

inline std::span<const uint8_t> AsBytes(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

}  // namespace keysieve::scheduler
