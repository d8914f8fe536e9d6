// SPDX-License-Identifier: MIT
// What a lane does when its device fails: one retry, then the same bytes through the CPU route; a
// lost or hung device is given up for good. Hits are never the worse for it, only slower.
#include <algorithm>

#include "daemon/scheduler/lane.h"
#include "evidence/base/status.h"

namespace keysieve::scheduler {
namespace {

constexpr uint32_t kMaxAttempts = 2;
constexpr uint32_t kFaultsBeforeQuarantine = 3;  // batches in a row that failed twice

// Reports one recovery when the last of a failed batch's blobs was done on the CPU route: before
// that blob is answered, so that the record of its scan has it.
class RecoveryGroup {
 public:
  RecoveryGroup(evidence::ScanRecorder* recorder, const std::vector<MatchJob>& jobs)
      : recorder_(recorder), left_(jobs.size()) {
    for (const MatchJob& job : jobs) {
      if (job.profile == evidence::ContextId::kProcess) continue;
      if (std::find(scans_.begin(), scans_.end(), job.profile) == scans_.end()) {
        scans_.push_back(job.profile);
      }
    }
  }
  void Ended(bool ok) {
    if (!ok) all_ok_.store(false);
    if (left_.fetch_sub(1) == 1 && all_ok_.load() && recorder_ != nullptr) {
      recorder_->RecoveredFor(scans_);
    }
  }

 private:
  evidence::ScanRecorder* const recorder_;
  std::vector<evidence::ContextId> scans_;  // profiled ones
  std::atomic<size_t> left_;
  std::atomic<bool> all_ok_{true};
};

std::vector<std::shared_ptr<ActiveJob>> JobsOf(const PackedBatch& batch) {
  std::vector<std::shared_ptr<ActiveJob>> jobs;
  for (const CutPiece& piece : batch.pieces) {
    if (!piece.job->left && (jobs.empty() || jobs.back() != piece.job)) jobs.push_back(piece.job);
  }
  return jobs;
}

}  // namespace

// ---- a batch failed ----

void Lane::Faulted(const absl::Status& status, PackedBatch batch) {
  const absl::StatusCode code = status.code();
  if (code == absl::StatusCode::kDataLoss || code == absl::StatusCode::kDeadlineExceeded) {
    ready_.push_front(std::move(batch));
    return Abandon(status);
  }
  const bool dispatch = code == absl::StatusCode::kInternal;
  if (++batch.attempt < kMaxAttempts && dispatch) {
    Say(Cat(Name(), " failed and tries again: ", Message(status)));
    ready_.push_front(std::move(batch));
    return;
  }
  const std::string why =
      Cat(Name(), batch.attempt > 1 ? " failed twice: " : " failed: ", Message(status));
  Say(why + "; the CPU route takes over");
  RecoverBatch(std::move(batch), why);
  // Only what speaks against the device counts: that a batch wants more memory than there is does
  // not, or a caller could have a device quarantined with text that is all hits.
  if (dispatch && ++faults_in_row_ >= kFaultsBeforeQuarantine && recovery_ != nullptr) {
    Abandon(absl::InternalError(
        Cat(faults_in_row_, " batches in a row failed twice, the last with: ", Message(status))));
  }
}

void Lane::RecoverBatch(PackedBatch batch, const std::string& why) {
  const auto jobs = JobsOf(batch);
  for (const CutPiece& piece : batch.pieces) --piece.job->pieces_out;
  Recover(jobs, why, options_.recorder);
}

void Lane::FailBatch(PackedBatch batch, const absl::Status& status) {
  for (const auto& job : JobsOf(batch)) Finish(*job, {.status = status});
}

// ---- to the CPU route ----

void Lane::Recover(const std::vector<std::shared_ptr<ActiveJob>>& jobs, const std::string& why,
                   evidence::ScanRecorder* counted) {
  std::vector<MatchJob> leaving;
  for (const auto& job : jobs) {
    if (job->left) continue;
    if (job->cancelled()) {
      Finish(*job, {.status = absl::CancelledError("the scan was cancelled")});
    } else if (recovery_ == nullptr) {
      Finish(*job, {.status = absl::UnavailableError("the CPU route failed: " + why)});
    } else if (Claim(*job)) {
      // The job leaves with its bytes and its callback; what still comes back of it is dropped. The
      // packer may still look at its table.
      MatchJob moved = job->job;
      job->job.done = nullptr;
      job->job.owner.reset();
      job->hits.clear();
      leaving.push_back(std::move(moved));
    }
  }
  const auto group = std::make_shared<RecoveryGroup>(counted, leaving);
  for (MatchJob& job : leaving) {
    Reroute(std::move(job), why, [group](bool ok) { group->Ended(ok); });
  }
}

void Lane::Reroute(MatchJob job, const std::string& why, std::function<void(bool)> ended) {
  job.done = [done = std::move(job.done), why, ended = std::move(ended)](MatchOutcome outcome) {
    if (ended) ended(outcome.status.ok());
    if (outcome.status.ok()) {
      outcome.recovered = true;
      outcome.route_reason = why;
    }
    done(std::move(outcome));
  };
  recovery_->Submit(std::move(job));
}

void Lane::RecoverPending(const std::string& why) {
  std::deque<Flight> flights;
  flights.swap(in_flight_);
  for (Flight& flight : flights) RecoverBatch(std::move(flight.batch), why);
  std::deque<PackedBatch> ready;
  ready.swap(ready_);
  // A batch that never reached the device is no failed one, unless it is on its way to a retry.
  for (PackedBatch& batch : ready) {
    for (const CutPiece& piece : batch.pieces) --piece.job->pieces_out;
    Recover(JobsOf(batch), why, batch.attempt > 0 ? options_.recorder : nullptr);
  }
  Recover(packer_.Clear(), why, nullptr);
  tables_.Clear();
}

// ---- the device is given up ----

void Lane::Abandon(const absl::Status& status) {
  if (abandoned_.load()) return;
  const std::string why = Cat(Name(), " is quarantined: ", Message(status));
  {
    MutexLock lock(mutex_);
    abandoned_.store(true);
    status_.abandoned = true;
    Enter(LaneState::kQuarantined, Message(status));
  }
  Say(why + "; its work goes to the CPU route");
  if (parts_.device != nullptr) parts_.device->Abandon();
  if (options_.recorder != nullptr) {
    options_.recorder->Quarantined();
    // A session that ended has counted these; one that merely hung has not.
    for (size_t i = 0; i < in_flight_.size() && !parts_.session->ended(); ++i) {
      BindProfiles(in_flight_[i].scans);
      options_.recorder->ResidualBatch();
    }
  }
  RecoverPending(why);
}

void Lane::Supervise() {
  const auto began = turn_began_.load();
  const auto now = options_.now().time_since_epoch();
  const bool stuck = began != 0 && now - backends::Clock::duration(began) > options_.hang_after;
  if (!stuck || recovery_ == nullptr || abandoned_.load()) return;
  const std::string reason = Cat("a call into the device's library has not returned for ",
                                 options_.hang_after.count(), " ms");
  std::vector<std::shared_ptr<ActiveJob>> jobs;
  std::deque<Order> orders;
  {
    MutexLock lock(mutex_);
    if (abandoned_.exchange(true)) return;
    stuck_.store(true);
    status_.abandoned = true;
    Enter(LaneState::kQuarantined, reason);
    for (auto& [key, job] : active_) {
      job->left.store(true);
      jobs.push_back(job);
    }
    active_.clear();
    incoming_.clear();
    orders.swap(orders_);
    if (obeying_) orders.push_front({.done = std::exchange(obeying_, nullptr)});
    status_.queued_blobs = 0;
    status_.queued_bytes = 0;
    queued_bytes_.store(0);
    wake_.NotifyAll();
  }
  const std::string why = Cat(Name(), " is quarantined: ", reason);
  Say(why + "; its work goes to the CPU route");
  if (options_.recorder != nullptr) {
    options_.recorder->Fault(evidence::FaultKind::kTimeout);
    options_.recorder->Quarantined();
  }
  // The stuck call may still read a blob: its owner stays where it is, in the job.
  for (const auto& job : jobs) {
    MatchJob moved = job->job;
    job->job.done = nullptr;
    Reroute(std::move(moved), why, nullptr);
  }
  for (Order& order : orders) order.done(absl::UnavailableError(reason));
}

}  // namespace keysieve::scheduler
