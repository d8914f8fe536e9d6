// SPDX-License-Identifier: MIT
// The least busy open lane; see scheduler.h.
#include "daemon/scheduler/scheduler.h"

namespace keysieve::scheduler {

Scheduler::Scheduler(std::vector<std::unique_ptr<Lane>> lanes, std::unique_ptr<Lane> recovery)
    : recovery_(std::move(recovery)), lanes_(std::move(lanes)) {}

Scheduler::~Scheduler() { Stop(); }

void Scheduler::Submit(MatchJob job) {
  Lane* best = nullptr;
  uint64_t best_bytes = 0;
  for (const auto& lane : lanes_) {
    if (!lane->open()) continue;
    const uint64_t bytes = lanes_.size() == 1 ? 0 : lane->status().queued_bytes;
    if (best == nullptr || bytes < best_bytes) {
      best = lane.get();
      best_bytes = bytes;
    }
  }
  // None open: the first lane knows why and passes the job on to the CPU route.
  if (best == nullptr) best = lanes_.empty() ? recovery_.get() : lanes_.front().get();
  best->Submit(std::move(job));
}

std::vector<LaneStatus> Scheduler::status() const {
  std::vector<LaneStatus> all;
  for (const auto& lane : lanes_) all.push_back(lane->status());
  if (recovery_ != nullptr) all.push_back(recovery_->status());
  return all;
}

bool Scheduler::any_open() const {
  for (const auto& lane : lanes_) {
    if (lane->open()) return true;
  }
  return recovery_ != nullptr && recovery_->open();
}

bool Scheduler::any_abandoned() const {
  for (const auto& lane : lanes_) {
    if (lane->abandoned()) return true;
  }
  return recovery_ != nullptr && recovery_->abandoned();
}

void Scheduler::Stop() {
  for (const auto& lane : lanes_) lane->Stop();
  if (recovery_ != nullptr) recovery_->Stop();
}

}  // namespace keysieve::scheduler
