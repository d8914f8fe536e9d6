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

  // Drains the lanes, the recovery lane last.
  void Stop();

 private:
  std::unique_ptr<Lane> recovery_;  // outlives the lanes that point to it
  std::vector<std::unique_ptr<Lane>> lanes_;
};

}  // namespace keysieve::scheduler
