// SPDX-License-Identifier: MIT
// When a daemon runs itself anew to use a device that it gave up: a moment when nothing is in
// flight, or after the longest wait, and never in quick succession. Decides only; time and state
// come from outside. Any thread.
//
//   if (plan.Look(now, lanes.any_abandoned(), pipeline.streams()) == RestartPlan::Verdict::kNow)
//   ...
#pragma once

#include <chrono>
#include <cstdint>

#include "evidence/base/mutex.h"

namespace keysieve {

class RestartPlan {
 public:
  using Clock = std::chrono::steady_clock;
  enum class Verdict : uint8_t { kNotWanted, kWait, kNow };

  // `restarts`: how many came before this process, one soon after the other. `began`: its start.
  RestartPlan(bool allowed, std::chrono::seconds max_wait, uint32_t restarts,
              Clock::time_point began);

  // `needed`: a device was given up. kNow once nothing is in flight or the wait is over.
  Verdict Look(Clock::time_point now, bool needed, uint32_t streams);
  // An operator asks for it: the pause between restarts is over.
  void Hurry();
  // It could not be done; not before a pause.
  void Postpone(Clock::time_point now);

  bool allowed() const { return allowed_; }
  uint32_t restarts() const { return restarts_; }
  // What the program that follows is told: a long quiet time makes it the first again.
  uint32_t next_restarts(Clock::time_point now) const;
  // From the start of this process on. None before the first restart, then twice as long each time.
  static std::chrono::seconds PauseBefore(uint32_t restarts);

 private:
  const bool allowed_;
  const std::chrono::seconds max_wait_;
  const uint32_t restarts_;
  const Clock::time_point began_;

  Mutex mutex_;
  Clock::time_point not_before_ ABSL_GUARDED_BY(mutex_);
  bool wanted_ ABSL_GUARDED_BY(mutex_) = false;
  Clock::time_point wanted_since_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace keysieve
