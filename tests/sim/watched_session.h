// SPDX-License-Identifier: MIT
// The real session with somebody beside it who writes down what went in and what came out.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "megakernel/session.h"

namespace keysieve::sim {

// Of all sessions of one lane.
struct SessionBook {
  uint64_t batches = 0;
  uint64_t retries = 0;         // accepted with an attempt
  uint64_t text_submitted = 0;  // bytes, of all batches
  uint64_t text_completed = 0;  // of those whose epoch completed, its answer used or not
  uint64_t text_unclear = 0;    // of those that failed otherwise: before or after their first epoch
  uint64_t hits = 0;            // handed out
  uint64_t integrity_errors = 0;
  uint64_t failed_batches = 0;  // Next() said so, the session going on
  uint64_t epochs = 0;          // as the sessions count them
  bool ended_early = false;     // a session was lost with batches in flight
};

class WatchedSession final : public megakernel::Session {
 public:
  WatchedSession(std::unique_ptr<megakernel::Session> inner, SessionBook& book)
      : inner_(std::move(inner)), book_(book) {}
  ~WatchedSession() override { book_.epochs += inner_->stats().epochs; }

  absl::StatusOr<megakernel::TableHandle> LoadTable(const megakernel::Table& table) override {
    auto handle = inner_->LoadTable(table);
    book_.ended_early = book_.ended_early || inner_->ended();
    return handle;
  }
  absl::Status EvictTable(megakernel::TableHandle handle) override {
    return inner_->EvictTable(handle);
  }
  absl::StatusOr<megakernel::BatchId> Submit(const megakernel::Batch& batch) override {
    auto id = inner_->Submit(batch);
    if (!id.ok()) return id;
    uint64_t bytes = 0;
    for (const megakernel::Piece& piece : batch.pieces) bytes += piece.text.size();
    texts_[*id] = bytes;
    order_.push_back(*id);
    ++book_.batches;
    book_.text_submitted += bytes;
    if (batch.attempt > 0) ++book_.retries;
    return id;
  }
  absl::Status Flush() override {
    absl::Status flushed = inner_->Flush();
    book_.ended_early = book_.ended_early || inner_->ended();
    return flushed;
  }
  absl::StatusOr<megakernel::BatchResult> Next(backends::Clock::time_point deadline) override {
    auto result = inner_->Next(deadline);
    book_.ended_early = book_.ended_early || inner_->ended();
    const bool waiting = absl::IsDeadlineExceeded(result.status()) || inner_->ended();
    if (!waiting) Note(result);
    return result;
  }
  bool ended() const override { return inner_->ended(); }
  uint32_t batches_in_flight() const override { return inner_->batches_in_flight(); }
  uint32_t slots_in_use() const override { return inner_->slots_in_use(); }
  uint32_t max_pieces() const override { return inner_->max_pieces(); }
  const megakernel::Geometry& geometry() const override { return inner_->geometry(); }
  uint64_t resident_bytes() const override { return inner_->resident_bytes(); }
  const megakernel::SessionStats& stats() const override { return inner_->stats(); }
  std::vector<std::string> TakeDebugLog() override { return inner_->TakeDebugLog(); }
  absl::Status Shutdown(backends::Clock::time_point deadline) override {
    return inner_->Shutdown(deadline);
  }

 private:
  void Note(const absl::StatusOr<megakernel::BatchResult>& result) {
    const uint64_t bytes = texts_[order_.front()];
    order_.erase(order_.begin());
    if (result.ok()) {
      book_.text_completed += bytes;
      for (const auto& hits : result->hits) book_.hits += hits.size();
      return;
    }
    ++book_.failed_batches;
    const std::string message(result.status().message());
    if (message.find("integrity: ") == std::string::npos) {
      book_.text_unclear += bytes;
      return;
    }
    ++book_.integrity_errors;
    book_.text_completed += bytes;
  }

  const std::unique_ptr<megakernel::Session> inner_;
  SessionBook& book_;
  std::map<megakernel::BatchId, uint64_t> texts_;
  std::vector<megakernel::BatchId> order_;
};

}  // namespace keysieve::sim
