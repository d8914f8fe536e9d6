// SPDX-License-Identifier: MIT
// The least busy open lane; see scheduler.h.
#include "daemon/scheduler/scheduler.h"

#include "evidence/base/status.h"

namespace keysieve::scheduler {

Scheduler::Scheduler(std::vector<std::unique_ptr<Lane>> lanes, std::unique_ptr<Lane> recovery)
    : recovery_(std::move(recovery)), lanes_(std::move(lanes)) {}

Scheduler::~Scheduler() { Stop(); }

void Scheduler::Submit(MatchJob job) {
  Lane* best = nullptr;
  uint64_t best_bytes = 0;
  for (const auto& lane : lanes_) {
    if (!lane->open()) continue;
    const uint64_t bytes = lane->queued_bytes();
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

bool Scheduler::any_accelerator_down() const {
  for (const auto& lane : lanes_) {
    if (lane->identity().backend != backends::BackendKind::kCpu && !lane->open()) return true;
  }
  return false;
}

void Scheduler::Supervise() {
  for (const auto& lane : lanes_) lane->Supervise();
}

absl::StatusOr<Lane*> Scheduler::Find(const std::string& device) const {
  std::vector<Lane*> all;
  for (const auto& lane : lanes_) all.push_back(lane.get());
  if (recovery_ != nullptr) all.push_back(recovery_.get());
  std::string names;
  Lane* found = nullptr;
  int matches = 0;
  for (Lane* lane : all) {
    const backends::Identity& id = lane->identity();
    const std::string backend(backends::BackendName(id.backend));
    const std::string name = Cat(backend, ":", id.index);
    names += (names.empty() ? "" : ", ") + name;
    if (device == name || device == backend || (!id.uuid.empty() && device == id.uuid)) {
      found = lane;
      ++matches;
    }
  }
  if (matches == 1) return found;
  return absl::NotFoundError(
      Cat(matches == 0 ? "no device is named \"" : "several devices are named \"", device,
          "\"; there are: ", names));
}

void Scheduler::Quarantine(const std::string& device, const std::string& reason, Lane::Done done) {
  const auto lane = Find(device);
  lane.ok() ? (*lane)->Quarantine(reason, std::move(done)) : done(lane.status());
}

void Scheduler::Resume(const std::string& device, Lane::Done done) {
  const auto lane = Find(device);
  lane.ok() ? (*lane)->Resume(std::move(done)) : done(lane.status());
}

void Scheduler::Stop() {
  for (const auto& lane : lanes_) lane->Stop();
  if (recovery_ != nullptr) recovery_->Stop();
}

}  // namespace keysieve::scheduler
