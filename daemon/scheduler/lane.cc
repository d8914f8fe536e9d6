// SPDX-License-Identifier: MIT
// The lane's states and its loop. Work on an open device is in lane_batches.cc, its faults in
// lane_faults.cc.
#include "daemon/scheduler/lane.h"

#include "evidence/base/status.h"

namespace keysieve::scheduler {
namespace {

using backends::Clock;

constexpr std::chrono::seconds kShutdownWait(10);
constexpr std::chrono::seconds kSamplePeriod(1);

absl::Status Cancelled() { return absl::CancelledError("the scan was cancelled"); }

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

Lane::~Lane() {
  Stop();
  if (thread_.joinable()) thread_.join();
  if (stuck_.load() && parts_.device != nullptr) parts_.device->Abandon();
}

std::string Lane::Name() const {
  return Cat(backends::BackendName(options_.identity.backend), ":", options_.identity.index);
}

void Lane::Say(const std::string& sentence) const {
  if (options_.say) options_.say(sentence);
}

// ---- from other threads ----

absl::Status Lane::Start() {
  thread_ = std::thread([this] { Run(); });
  MutexLock lock(mutex_);
  while (!started_) wake_.Wait(mutex_);
  return opened_;
}

absl::Status Lane::StartHere() {
  here_ = true;
  Open();
  MutexLock lock(mutex_);
  return opened_;
}

bool Lane::Step() {
  {
    MutexLock lock(mutex_);
    if (orders_.empty() && incoming_.empty() && idle()) return false;
  }
  return Turn();
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
      queued_bytes_.store(status_.queued_bytes);
      active_.emplace(active.get(), active);
      incoming_.push_back(std::move(active));
      wake_.NotifyAll();
      return;
    }
    why = status_.reason.empty() ? "it is shutting down" : status_.reason;
  }
  why = Cat(Name(), " takes no work: ", why);
  if (recovery_ != nullptr) return Reroute(std::move(active->job), why, nullptr);
  active->job.done({.status = absl::UnavailableError(why), .route = options_.identity.backend});
}

void Lane::Quarantine(const std::string& reason, Done done) {
  if (recovery_ == nullptr) {
    return done(absl::FailedPreconditionError(
        Cat(Name(), " is the last route there is; drain the daemon instead")));
  }
  Enqueue({Order::Kind::kQuarantine, reason, std::move(done)});
}

void Lane::Resume(Done done) { Enqueue({Order::Kind::kResume, "", std::move(done)}); }

// Whoever asks is answered, even where no thread is left to ask.
void Lane::Enqueue(Order order) {
  {
    MutexLock lock(mutex_);
    if (!finished_ && !stuck_.load()) {
      orders_.push_back(std::move(order));
      wake_.NotifyAll();
      return;
    }
  }
  if (!abandoned_.load()) return order.done(absl::UnavailableError("the daemon is shutting down"));
  order.done(order.kind == Order::Kind::kResume ? GivenUp() : absl::OkStatus());
}

absl::Status Lane::GivenUp() const {
  return absl::FailedPreconditionError(
      Cat(Name(),
          " was given up and this process cannot use it again; restart the daemon, or set "
          "recovery.restart = \"exec\""));
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
  if (here_) {
    while (Turn()) {
    }
    CloseSession();
    here_ = false;
  }
  if (!thread_.joinable()) return;
  {
    MutexLock lock(mutex_);
    while (!finished_ && !stuck_.load()) wake_.Wait(mutex_);
    if (!finished_) return;
  }
  thread_.join();
}

bool Lane::Claim(ActiveJob& job) {
  MutexLock lock(mutex_);
  if (active_.erase(&job) == 0) return false;
  job.left.store(true);
  --status_.queued_blobs;
  status_.queued_bytes -= job.job.bytes.size();
  queued_bytes_.store(status_.queued_bytes);
  return true;
}

void Lane::Finish(ActiveJob& job, MatchOutcome outcome) {
  if (!Claim(job)) return;
  outcome.route = options_.identity.backend;
  const auto done = std::move(job.job.done);
  job.job.owner.reset();  // the bytes may go now; later results of it are dropped unread
  done(std::move(outcome));
}

// ---- the lane's thread: the states ----

void Lane::Run() {
  Open();
  {
    MutexLock lock(mutex_);
    started_ = true;
    wake_.NotifyAll();
  }
  while (Turn()) {
  }
  // Given up from outside, what the thread held is no longer its business.
  if (!stuck_.load()) CloseSession();
  MutexLock lock(mutex_);
  finished_ = true;
  wake_.NotifyAll();
}

bool Lane::Turn() {
  if (!AwaitWork() || stuck_.load()) return false;
  TakeIn();
  if (usable()) Fill();
  if (usable()) Collect();
  if (usable()) Report();
  return true;
}

// Waits until there is something to do and carries out orders. False: stop, nothing is left.
bool Lane::AwaitWork() {
  for (;;) {
    Order order;
    {
      MutexLock lock(mutex_);
      turn_began_.store(0);
      while (orders_.empty() && incoming_.empty() && !stopping_ && idle() && !here_) {
        wake_.Wait(mutex_);
      }
      turn_began_.store(options_.now().time_since_epoch().count());
      if (orders_.empty()) return !(stopping_ && incoming_.empty() && idle());
      order = std::move(orders_.front());
      orders_.pop_front();
    }
    Obey(std::move(order));
    if (stuck_.load()) return true;
  }
}

void Lane::Enter(LaneState state, const std::string& reason) {
  open_.store(state == LaneState::kOpen);
  status_.state = state;
  status_.reason = reason;
  status_.batches_in_flight = 0;
  status_.slots_used = 0;
}

void Lane::Open() {
  auto parts = opener_();
  MutexLock lock(mutex_);
  opened_ = parts.status();
  if (!parts.ok()) {
    // Lost or hung while it opened, it is no better than one that was lost at work.
    const bool gone = absl::IsDataLoss(opened_) || absl::IsDeadlineExceeded(opened_);
    if (gone) abandoned_.store(true);
    if (gone && options_.recorder != nullptr) options_.recorder->Quarantined();
    status_.abandoned = gone;
    return Enter(gone ? LaneState::kQuarantined : LaneState::kFailedToOpen, Message(opened_));
  }
  parts_ = *std::move(parts);
  status_.resident_bytes = parts_.session->resident_bytes();
  status_.policy = parts_.session->policy();
  status_.policy_reason = parts_.session->policy_reason();
  faults_in_row_ = 0;
  max_pieces_ = UINT32_MAX;
  Enter(LaneState::kOpen, "");
}

void Lane::Obey(Order order) {
  {
    MutexLock lock(mutex_);
    obeying_ = std::move(order.done);
  }
  const absl::Status status =
      order.kind == Order::Kind::kQuarantine ? ObeyQuarantine(order.reason) : ObeyResume();
  Done done;
  {
    MutexLock lock(mutex_);
    done.swap(obeying_);  // empty if whoever gave this lane up has answered
  }
  if (done) done(status);
}

absl::Status Lane::ObeyQuarantine(const std::string& reason) {
  {
    MutexLock lock(mutex_);
    if (status_.state == LaneState::kQuarantined) return absl::OkStatus();
    Enter(LaneState::kQuarantined, reason);
  }
  const std::string why = Cat(Name(), " is quarantined: ", reason);
  Say(why + "; its work goes to the CPU route");
  if (options_.recorder != nullptr) options_.recorder->Quarantined();
  // What is under way ends; each wait has a deadline and a device that fails is given up.
  while (usable() && !in_flight_.empty() && !stuck_.load()) Collect();
  if (stuck_.load()) return absl::UnavailableError("the device stopped answering");
  TakeIn();
  RecoverPending(why);
  CloseSession();
  return absl::OkStatus();
}

absl::Status Lane::ObeyResume() {
  if (abandoned_.load()) return GivenUp();
  if (open_.load()) return absl::OkStatus();
  Open();
  const absl::Status opened = [this] {
    MutexLock lock(mutex_);
    return opened_;
  }();
  Say(opened.ok() ? Cat(Name(), " is open again")
                  : Cat(Name(), " does not open: ", Message(opened)));
  return opened;
}

void Lane::TakeIn() {
  std::deque<std::shared_ptr<ActiveJob>> fresh;
  {
    MutexLock lock(mutex_);
    fresh.swap(incoming_);
  }
  if (!usable()) {
    return Recover({fresh.begin(), fresh.end()}, Cat(Name(), ": ", status().reason), nullptr);
  }
  for (auto& job : fresh) {
    if (job->cancelled()) {
      Finish(*job, {.status = Cancelled()});
    } else if (job->job.bytes.empty()) {
      Finish(*job, {});
    } else {
      packer_.Add(std::move(job));
    }
  }
  for (auto& job : packer_.TakeCancelled()) Finish(*job, {.status = Cancelled()});
}

void Lane::CloseSession() {
  if (parts_.session != nullptr && !abandoned_.load()) {
    // A failure here leaves nothing to do for anyone: the session frees what it can.
    (void)parts_.session->Shutdown(Clock::now() + kShutdownWait);
    const bool lost =
        parts_.device != nullptr && parts_.device->health() == backends::Health::kLost;
    if (lost) Abandon(absl::DataLossError("the device was lost while its session was closed"));
  }
  open_.store(false);
  tables_.Clear();
  parts_.session.reset();
  parts_.device.reset();
  MutexLock lock(mutex_);
  status_.resident_bytes = 0;
}

void Lane::Report() {
  for (const std::string& line : parts_.session->TakeDebugLog()) Say(Name() + ": " + line);
  const Clock::time_point now = options_.now();
  if (options_.recorder != nullptr && parts_.device != nullptr && now - sampled_ > kSamplePeriod) {
    sampled_ = now;
    if (const auto sample = parts_.device->ReadSample(); sample.ok()) {
      options_.recorder->Observed(sample->utilization_ratio, sample->occupancy_ratio);
    }
  }
  MutexLock lock(mutex_);
  if (!open_.load()) return;
  status_.batches_in_flight = static_cast<uint32_t>(in_flight_.size());
  status_.slots_used = parts_.session->slots_in_use();
  status_.resident_bytes = parts_.session->resident_bytes();
}

}  // namespace keysieve::scheduler
