// SPDX-License-Identifier: MIT
// The lane's loop: take in, fill, collect. Faults are in lane_faults.cc.
#include "daemon/scheduler/lane.h"

#include <algorithm>

#include "evidence/base/status.h"

namespace keysieve::scheduler {
namespace {

using backends::Clock;

constexpr std::chrono::seconds kShutdownWait(10);
constexpr std::chrono::seconds kSamplePeriod(1);

}  // namespace

std::string_view LaneStateName(LaneState state) {
  switch (state) {
    case LaneState::kOpen:
      return "open";
    case LaneState::kFailedToOpen:
      return "failed_to_open";
    case LaneState::kQuarantined:
      return "quarantined";
  }
  return "quarantined";
}

Lane::Lane(LaneOptions options, LaneOpener opener, Matcher* recovery)
    : options_(std::move(options)), opener_(std::move(opener)), recovery_(recovery) {
  MutexLock lock(mutex_);
  status_.identity = options_.identity;
}

Lane::~Lane() { Stop(); }

std::string Lane::Name() const {
  return Cat(backends::BackendName(options_.identity.backend), ":", options_.identity.index);
}

absl::Status Lane::Start() {
  thread_ = std::thread([this] { Run(); });
  MutexLock lock(mutex_);
  while (!started_) wake_.Wait(mutex_);
  return opened_;
}

void Lane::Submit(MatchJob job) {
  auto active = std::make_shared<ActiveJob>();
  active->job = std::move(job);
  std::string why;
  {
    MutexLock lock(mutex_);
    if (open_.load() && !stopping_) {
      ++status_.queued_blobs;
      status_.queued_bytes += active->job.bytes.size();
      incoming_.push_back(std::move(active));
      wake_.NotifyAll();
      return;
    }
    why = status_.reason.empty() ? "it is shutting down" : status_.reason;
  }
  // Never counted here: it goes straight on.
  MatchJob& rest = active->job;
  if (recovery_ == nullptr) {
    rest.done({.status = absl::UnavailableError(Name() + " takes no work: " + why),
               .route = options_.identity.backend});
    return;
  }
  auto done = std::move(rest.done);
  rest.done = [done = std::move(done),
               reason = Name() + " takes no work: " + why](MatchOutcome outcome) {
    outcome.recovered = true;
    outcome.route_reason = reason;
    done(std::move(outcome));
  };
  recovery_->Submit(std::move(rest));
}

LaneStatus Lane::status() const {
  MutexLock lock(mutex_);
  return status_;
}

void Lane::Stop() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    wake_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
}

void Lane::Run() {
  auto parts = opener_();
  {
    MutexLock lock(mutex_);
    opened_ = parts.status();
    started_ = true;
    status_.state = parts.ok() ? LaneState::kOpen : LaneState::kFailedToOpen;
    if (parts.ok()) {
      parts_ = *std::move(parts);
      status_.resident_bytes = parts_.session->resident_bytes();
      open_.store(true);
    } else {
      status_.reason = Message(opened_);
    }
    wake_.NotifyAll();
    if (!opened_.ok()) return;
  }
  while (Intake()) {
    Fill();
    Collect();
    Report();
  }
  if (!abandoned_.load()) {
    // A failure here leaves nothing to do for anyone: the session frees what it can.
    (void)parts_.session->Shutdown(Clock::now() + kShutdownWait);
  }
  open_.store(false);
  parts_.session.reset();
  parts_.device.reset();
}

bool Lane::Intake() {
  std::deque<std::shared_ptr<ActiveJob>> fresh;
  {
    MutexLock lock(mutex_);
    while (incoming_.empty() && !stopping_ && in_flight_.empty() && ready_.empty() &&
           packer_.empty()) {
      wake_.Wait(mutex_);
    }
    fresh.swap(incoming_);
    if (stopping_ && fresh.empty() && in_flight_.empty() && ready_.empty() && packer_.empty()) {
      return false;
    }
  }
  if (abandoned_.load()) {
    Recover({fresh.begin(), fresh.end()}, status().reason);
    return true;
  }
  for (auto& job : fresh) {
    if (job->cancelled()) {
      Finish(*job, {.status = absl::CancelledError("the scan was cancelled")});
    } else if (job->job.bytes.empty()) {
      Finish(*job, {});
    } else {
      packer_.Add(std::move(job));
    }
  }
  for (auto& job : packer_.Sweep()) {
    Finish(*job, {.status = absl::CancelledError("the scan was cancelled")});
  }
  return true;
}

void Lane::Fill() {
  if (abandoned_.load()) return;
  const megakernel::Geometry& geometry = parts_.session->geometry();
  bool submitted = false;
  while (!abandoned_.load() && in_flight_.size() < geometry.batches) {
    if (ready_.empty()) {
      PackedBatch batch =
          packer_.Pack(geometry.batch_bytes, std::min(max_pieces_, parts_.session->max_pieces()));
      if (batch.pieces.empty()) break;
      ready_.push_back(std::move(batch));
    }
    if (!SubmitNext()) break;
    submitted = true;
  }
  if (!submitted || abandoned_.load()) return;
  if (const absl::Status flushed = parts_.session->Flush(); !flushed.ok()) {
    Quarantine(flushed);  // a mere failure to dispatch comes back through Next()
  }
}

bool Lane::SubmitNext() {
  PackedBatch batch = std::move(ready_.front());
  ready_.pop_front();
  // What was answered elsewhere since it was packed no longer has its bytes.
  std::erase_if(batch.pieces, [](const CutPiece& piece) {
    if (piece.job->left) --piece.job->pieces_out;
    return piece.job->left;
  });
  if (batch.pieces.empty()) return true;
  megakernel::Session& session = *parts_.session;
  auto table = tables_.Get(session, *batch.table);
  if (table.status().code() == absl::StatusCode::kUnavailable) {
    ready_.push_front(std::move(batch));
    return false;
  }
  if (table.status().code() == absl::StatusCode::kResourceExhausted) {
    FailBatch(std::move(batch), table.status());
    return true;
  }
  if (!table.ok()) {
    Faulted(table.status(), std::move(batch));
    return true;
  }
  std::vector<megakernel::Piece> pieces;
  pieces.reserve(batch.pieces.size());
  for (const CutPiece& cut : batch.pieces) {
    const std::span<const uint8_t> blob = cut.job->job.bytes;
    pieces.push_back({.text = blob.subspan(cut.begin, cut.text_bytes),
                      .owned_begin = 0,
                      .owned_end = cut.owned_bytes,
                      .tenant = cut.job->job.tenant % session.geometry().tenants,
                      .begins_blob = cut.begin == 0,
                      .ends_blob = cut.begin + cut.text_bytes == blob.size()});
  }
  auto id = session.Submit({.table = *table, .pieces = pieces, .attempt = batch.attempt});
  if (id.ok()) {
    tables_.Began(batch.table->digest);
    in_flight_.push_back({*id, std::move(batch), *table, Clock::now()});
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
  RecoverBatch(std::move(batch), Name() + ": " + Message(id.status()));
  return true;
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
  if (in_flight_.empty() || abandoned_.load()) return;
  // With room for more batches the wait is short, so that new work gets in.
  auto result = parts_.session->Next(Clock::now() + options_.poll);
  if (result.ok()) {
    Flight flight = std::move(in_flight_.front());
    in_flight_.pop_front();
    tables_.Ended(flight.batch.table->digest);
    faults_in_row_ = 0;
    Deliver(std::move(flight), *std::move(result));
    return;
  }
  const absl::StatusCode code = result.status().code();
  if (code == absl::StatusCode::kDeadlineExceeded) {
    const bool hung = Clock::now() - in_flight_.front().since > options_.hang_after;
    if (parts_.session->ended() || hung) Quarantine(result.status());
    return;
  }
  if (parts_.session->ended()) {
    Quarantine(result.status());
    return;
  }
  Flight flight = std::move(in_flight_.front());
  in_flight_.pop_front();
  tables_.Ended(flight.batch.table->digest);
  Faulted(result.status(), std::move(flight.batch));
}

void Lane::Deliver(Flight flight, megakernel::BatchResult result) {
  for (size_t i = 0; i < flight.batch.pieces.size(); ++i) {
    const CutPiece& cut = flight.batch.pieces[i];
    ActiveJob& job = *cut.job;
    --job.pieces_out;
    if (job.left) continue;
    if (job.cancelled() && job.whole()) {
      if (job.pieces_out == 0) {
        Finish(job, {.status = absl::CancelledError("the scan was cancelled")});
      }
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
    Finish(job, {.hits = std::move(job.hits)});
  }
}

void Lane::Finish(ActiveJob& job, MatchOutcome outcome) {
  {
    MutexLock lock(mutex_);
    --status_.queued_blobs;
    status_.queued_bytes -= job.job.bytes.size();
  }
  job.left = true;
  outcome.route = options_.identity.backend;
  const auto done = std::move(job.job.done);
  job.job.owner.reset();  // the bytes may go now; later results of it are dropped unread
  done(std::move(outcome));
}

void Lane::Report() {
  if (abandoned_.load()) return;
  for (const std::string& line : parts_.session->TakeDebugLog()) Say(Name() + ": " + line);
  const Clock::time_point now = Clock::now();
  if (options_.recorder != nullptr && parts_.device != nullptr && now - sampled_ > kSamplePeriod) {
    sampled_ = now;
    if (const auto sample = parts_.device->ReadSample(); sample.ok()) {
      options_.recorder->Observed(sample->utilization_ratio, sample->occupancy_ratio);
    }
  }
  MutexLock lock(mutex_);
  status_.batches_in_flight = static_cast<uint32_t>(in_flight_.size());
  status_.slots_used = parts_.session->slots_in_use();
  status_.resident_bytes = parts_.session->resident_bytes();
}

void Lane::Say(const std::string& sentence) const {
  if (options_.say) options_.say(sentence);
}

}  // namespace keysieve::scheduler
