// SPDX-License-Identifier: MIT
// What a lane does when its device fails: one retry, then the same bytes through the CPU route; a
// lost or hung device is given up for good. Hits are never the worse for it, only slower.
#include "daemon/scheduler/lane.h"
#include "evidence/base/status.h"

namespace keysieve::scheduler {
namespace {

constexpr uint32_t kMaxAttempts = 2;
constexpr uint32_t kFaultsBeforeQuarantine = 3;  // batches in a row that failed twice

// Reports one recovery when the last of a failed batch's blobs was done on the CPU route.
struct RecoveryGroup {
  explicit RecoveryGroup(evidence::DeviceRecorder* r) : recorder(r) {}
  ~RecoveryGroup() {
    if (recorder != nullptr && all_ok.load()) recorder->Recovered();
  }
  RecoveryGroup(const RecoveryGroup&) = delete;
  RecoveryGroup& operator=(const RecoveryGroup&) = delete;
  evidence::DeviceRecorder* const recorder;
  std::atomic<bool> all_ok{true};
};

std::vector<std::shared_ptr<ActiveJob>> JobsOf(const PackedBatch& batch) {
  std::vector<std::shared_ptr<ActiveJob>> jobs;
  for (const CutPiece& piece : batch.pieces) {
    if (!piece.job->left && (jobs.empty() || jobs.back() != piece.job)) jobs.push_back(piece.job);
  }
  return jobs;
}

}  // namespace

void Lane::Faulted(const absl::Status& status, PackedBatch batch) {
  const absl::StatusCode code = status.code();
  if (code == absl::StatusCode::kDataLoss || code == absl::StatusCode::kDeadlineExceeded) {
    ready_.push_front(std::move(batch));
    Quarantine(status);
    return;
  }
  if (++batch.attempt < kMaxAttempts && code == absl::StatusCode::kInternal) {
    Say(Cat(Name(), " failed and tries again: ", Message(status)));
    ready_.push_front(std::move(batch));
    return;
  }
  const std::string why =
      Cat(Name(), batch.attempt > 1 ? " failed twice: " : " failed: ", Message(status));
  Say(why + "; the CPU route takes over");
  RecoverBatch(std::move(batch), why);
  if (++faults_in_row_ >= kFaultsBeforeQuarantine && recovery_ != nullptr) {
    Quarantine(absl::InternalError(
        Cat(faults_in_row_, " batches in a row failed twice, the last with: ", Message(status))));
  }
}

void Lane::RecoverBatch(PackedBatch batch, const std::string& why) {
  auto jobs = JobsOf(batch);
  for (const CutPiece& piece : batch.pieces) --piece.job->pieces_out;
  Recover(std::move(jobs), why);
}

void Lane::FailBatch(PackedBatch batch, const absl::Status& status) {
  for (const auto& job : JobsOf(batch)) Finish(*job, {.status = status});
}

void Lane::Recover(std::vector<std::shared_ptr<ActiveJob>> jobs, const std::string& why) {
  auto group = std::make_shared<RecoveryGroup>(recovery_ == nullptr ? nullptr : options_.recorder);
  for (const auto& job : jobs) {
    if (job->left) continue;
    if (job->cancelled()) {
      Finish(*job, {.status = absl::CancelledError("the scan was cancelled")});
      continue;
    }
    if (recovery_ == nullptr) {
      Finish(*job, {.status = absl::UnavailableError("the CPU route failed: " + why)});
      continue;
    }
    // The job leaves with its bytes and its callback; what still comes back of it is dropped.
    MatchJob moved = job->job;
    auto done = std::move(job->job.done);
    moved.done = [done = std::move(done), why, group](MatchOutcome outcome) {
      if (outcome.status.ok()) {
        outcome.recovered = true;
        outcome.route_reason = why;
      } else {
        group->all_ok.store(false);
      }
      done(std::move(outcome));
    };
    job->left = true;
    job->job.owner.reset();
    job->hits.clear();
    {
      MutexLock lock(mutex_);
      --status_.queued_blobs;
      status_.queued_bytes -= moved.bytes.size();
    }
    recovery_->Submit(std::move(moved));
  }
}

void Lane::Quarantine(const absl::Status& status) {
  const std::string why = Cat(Name(), " is quarantined: ", Message(status));
  {
    MutexLock lock(mutex_);
    open_.store(false);
    status_.state = LaneState::kQuarantined;
    status_.reason = Message(status);
    status_.batches_in_flight = 0;
    status_.slots_used = 0;
  }
  Say(why + "; its work goes to the CPU route");
  if (parts_.device != nullptr) parts_.device->Abandon();
  abandoned_.store(true);
  if (options_.recorder != nullptr) options_.recorder->Quarantined();
  std::deque<Flight> flights;
  flights.swap(in_flight_);
  for (Flight& flight : flights) {
    // A session that ended has counted these; one that merely hung has not.
    if (options_.recorder != nullptr && !parts_.session->ended()) {
      options_.recorder->ResidualBatch();
    }
    RecoverBatch(std::move(flight.batch), why);
  }
  std::deque<PackedBatch> ready;
  ready.swap(ready_);
  for (PackedBatch& batch : ready) RecoverBatch(std::move(batch), why);
  Recover(packer_.Clear(), why);
  tables_.Clear();
}

}  // namespace keysieve::scheduler
