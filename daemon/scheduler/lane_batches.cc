// SPDX-License-Identifier: MIT
// Work on an open device: batches are packed and submitted, results are collected and each piece's
// hits given to its blob.
#include <algorithm>

#include "daemon/scheduler/lane.h"
#include "evidence/base/status.h"

namespace keysieve::scheduler {
namespace {

// While no further batch would fit, only cancelling, orders and the end are waited for.
constexpr uint32_t kPollsWhenFull = 20;

absl::Status Cancelled() { return absl::CancelledError("the scan was cancelled"); }

std::vector<megakernel::Piece> PiecesOf(const PackedBatch& batch, uint32_t tenants) {
  std::vector<megakernel::Piece> pieces;
  pieces.reserve(batch.pieces.size());
  for (const CutPiece& cut : batch.pieces) {
    const std::span<const uint8_t> blob = cut.job->job.bytes;
    pieces.push_back({.text = blob.subspan(cut.begin, cut.text_bytes),
                      .owned_begin = 0,
                      .owned_end = cut.owned_bytes,
                      .tenant = cut.job->job.tenant % tenants,
                      .begins_blob = cut.begin == 0,
                      .ends_blob = cut.begin + cut.text_bytes == blob.size()});
  }
  return pieces;
}

}  // namespace

void Lane::Fill() {
  const megakernel::Geometry& geometry = parts_.session->geometry();
  bool submitted = false;
  while (usable() && in_flight_.size() < geometry.batches) {
    if (ready_.empty()) {
      PackedBatch batch =
          packer_.Pack(geometry.batch_bytes, std::min(max_pieces_, parts_.session->max_pieces()));
      if (batch.pieces.empty()) break;
      ready_.push_back(std::move(batch));
    }
    if (!SubmitNext()) break;
    submitted = true;
  }
  if (!submitted || !usable()) return;
  if (const absl::Status flushed = parts_.session->Flush(); !flushed.ok()) {
    Abandon(flushed);  // a mere failure to dispatch comes back through Next()
  }
}

// Whoever was cancelled since the batch was packed costs the device nothing; what was answered
// elsewhere no longer has its bytes.
void Lane::DropAnswered(PackedBatch& batch) {
  for (const CutPiece& piece : batch.pieces) {
    if (!piece.job->left && piece.job->cancelled()) {
      Finish(*piece.job, {.status = Cancelled()});
    }
  }
  std::erase_if(batch.pieces, [](const CutPiece& piece) {
    if (piece.job->left) --piece.job->pieces_out;
    return piece.job->left.load();
  });
}

bool Lane::SubmitNext() {
  PackedBatch batch = std::move(ready_.front());
  ready_.pop_front();
  DropAnswered(batch);
  if (batch.pieces.empty()) return true;
  const auto scans = batch.ProfiledScans();
  const auto has_table = [&batch](const Flight& flight) {
    return flight.batch.table->digest == batch.table->digest;
  };
  // Loading a table waits for the batches in flight, which would then be recorded for the scans
  // that want the table: where profiled scans are involved, they are collected first.
  const bool profiled =
      !scans.empty() || std::any_of(in_flight_.begin(), in_flight_.end(),
                                    [](const Flight& flight) { return !flight.scans.empty(); });
  if (profiled && !in_flight_.empty() &&
      std::none_of(in_flight_.begin(), in_flight_.end(), has_table)) {
    ready_.push_front(std::move(batch));
    return false;
  }
  BindProfiles(scans);
  auto table = tables_.Get(*parts_.session, *batch.table);
  if (table.ok()) return HandIn(std::move(batch), *table);
  switch (table.status().code()) {
    case absl::StatusCode::kUnavailable:  // batches in flight use the arena
      ready_.push_front(std::move(batch));
      return false;
    case absl::StatusCode::kResourceExhausted:  // no arena is large enough
      FailBatch(std::move(batch), table.status());
      return true;
    default:
      Faulted(table.status(), std::move(batch));
      return true;
  }
}

bool Lane::HandIn(PackedBatch batch, megakernel::TableHandle table) {
  megakernel::Session& session = *parts_.session;
  const auto pieces = PiecesOf(batch, session.geometry().tenants);
  auto scans = batch.ProfiledScans();
  auto id = session.Submit({.table = table, .pieces = pieces, .attempt = batch.attempt});
  if (id.ok()) {
    tables_.Began(batch.table->digest);
    in_flight_.push_back({*id, std::move(batch), table, options_.now(), std::move(scans)});
    return true;
  }
  if (id.status().code() != absl::StatusCode::kResourceExhausted) {
    Faulted(id.status(), std::move(batch));
    return true;
  }
  if (!in_flight_.empty()) {
    ready_.push_front(std::move(batch));  // after the next result there is room
    return false;
  }
  if (batch.pieces.size() > 1) {
    Split(std::move(batch));
    return true;
  }
  RecoverBatch(std::move(batch), Cat(Name(), ": ", Message(id.status())));
  return true;
}

// What the recorder hears next counts for these scans. Most batches have none: then it hears
// nothing.
void Lane::BindProfiles(std::span<const evidence::ContextId> scans) {
  if (options_.recorder == nullptr || (scans.empty() && !bound_)) return;
  options_.recorder->Bind(scans);
  bound_ = !scans.empty();
}

void Lane::Split(PackedBatch batch) {
  const size_t half = batch.pieces.size() / 2;
  max_pieces_ = static_cast<uint32_t>(half);
  PackedBatch rest{batch.table, {}, batch.attempt};
  rest.pieces.assign(std::make_move_iterator(batch.pieces.begin() + static_cast<long>(half)),
                     std::make_move_iterator(batch.pieces.end()));
  batch.pieces.resize(half);
  ready_.push_front(std::move(rest));
  ready_.push_front(std::move(batch));
}

void Lane::Collect() {
  if (in_flight_.empty()) return;
  BindProfiles(in_flight_.front().scans);
  // With room for more batches the wait is short, so that new work gets in.
  const bool full = in_flight_.size() >= parts_.session->geometry().batches;
  const auto wait = options_.poll * (full ? kPollsWhenFull : 1);
  auto result = parts_.session->Next(options_.now() + wait);
  if (stuck_.load()) return;
  const absl::StatusCode code = result.status().code();
  if (code == absl::StatusCode::kDeadlineExceeded || parts_.session->ended()) {
    const bool hung = options_.now() - in_flight_.front().since > options_.hang_after;
    if (parts_.session->ended() || hung) Abandon(result.status());
    return;
  }
  Flight flight = std::move(in_flight_.front());
  in_flight_.pop_front();
  tables_.Ended(flight.batch.table->digest);
  if (!result.ok()) return Faulted(result.status(), std::move(flight.batch));
  faults_in_row_ = 0;
  Deliver(std::move(flight), *std::move(result));
}

void Lane::Deliver(Flight flight, megakernel::BatchResult result) {
  flight.batch.Charge(result.device_ns);
  for (size_t i = 0; i < flight.batch.pieces.size(); ++i) {
    const CutPiece& cut = flight.batch.pieces[i];
    ActiveJob& job = *cut.job;
    --job.pieces_out;
    if (job.left) continue;
    if (job.cancelled()) {
      Finish(job, {.status = Cancelled()});
      continue;
    }
    if (i < result.hits.size()) {
      for (const megakernel::LiteralHit& hit : result.hits[i]) {
        job.hits.push_back({hit.start + cut.begin, hit.end + cut.begin, hit.pattern});
      }
    }
    if (!job.whole() || job.pieces_out > 0) continue;
    if (!std::is_sorted(job.hits.begin(), job.hits.end())) {
      std::sort(job.hits.begin(), job.hits.end());  // a retried piece came late
    }
    Finish(job, {.hits = std::move(job.hits), .device_ns = job.device_ns});
  }
}

}  // namespace keysieve::scheduler
