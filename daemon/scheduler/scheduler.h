// SPDX-License-Identifier: MIT
// All lanes of the daemon behind one door. A job goes to the open lane with the fewest bytes
// waiting; with none open it goes to the CPU route.
#pragma once

#include <memory>
#include <vector>

#include "daemon/scheduler/lane.h"

namespace keysieve::scheduler {

class Scheduler : public Matcher {
 public:
  // `lanes` do the work, `recovery` (may be null when a lane is the CPU itself) takes what they
  // cannot do. All are started already.
  Scheduler(std::vector<std::unique_ptr<Lane>> lanes, std::unique_ptr<Lane> recovery);
  ~Scheduler() override;

  void Submit(MatchJob job) override;

  // The working lanes, then the recovery lane if there is one.
  std::vector<LaneStatus> status() const;
  bool any_open() const;  // can anything be scanned at all?
  bool any_abandoned() const;
  // An accelerator among the lanes is not open: the CPU route does its work, or part of it.
  bool any_accelerator_down() const;

  // Gives up lanes whose device does not return from a call; a few times a second, any thread.
  void Supervise();

  // An operator's orders, by name: "cuda:0" or a UUID; "cuda" where there is one such device. See
  // Lane. NOT_FOUND lists what there is.
  void Quarantine(const std::string& device, const std::string& reason, Lane::Done done);
  void Resume(const std::string& device, Lane::Done done);

  // Drains the lanes, the recovery lane last.
  void Stop();

 private:
  absl::StatusOr<Lane*> Find(const std::string& device) const;

  std::unique_ptr<Lane> recovery_;  // outlives the lanes that point to it
  std::vector<std::unique_ptr<Lane>> lanes_;
};

}  // namespace keysieve::scheduler
