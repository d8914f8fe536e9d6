// SPDX-License-Identifier: MIT
// See restart_plan.h.
#include "daemon/restart_plan.h"

#include <algorithm>

namespace keysieve {
namespace {

constexpr std::chrono::seconds kFirstPause(30);
constexpr std::chrono::seconds kLongestPause(3600);
constexpr std::chrono::seconds kPostponed(60);
constexpr std::chrono::hours kForgotten(1);  // up for so long, earlier restarts do not count

}  // namespace

RestartPlan::RestartPlan(bool allowed, std::chrono::seconds max_wait, uint32_t restarts,
                         Clock::time_point began)
    : allowed_(allowed), max_wait_(max_wait), restarts_(restarts), began_(began) {
  MutexLock lock(mutex_);
  not_before_ = began + PauseBefore(restarts);
}

std::chrono::seconds RestartPlan::PauseBefore(uint32_t restarts) {
  if (restarts == 0) return std::chrono::seconds(0);
  return std::min(kFirstPause * (int64_t{1} << std::min(restarts - 1, 20u)), kLongestPause);
}

uint32_t RestartPlan::next_restarts(Clock::time_point now) const {
  return now - began_ > kForgotten ? 1 : restarts_ + 1;
}

RestartPlan::Verdict RestartPlan::Look(Clock::time_point now, bool needed, uint32_t streams) {
  if (!allowed_ || !needed) return Verdict::kNotWanted;
  MutexLock lock(mutex_);
  if (now < not_before_) return Verdict::kWait;
  if (!wanted_) wanted_since_ = now;
  wanted_ = true;
  return streams == 0 || now - wanted_since_ >= max_wait_ ? Verdict::kNow : Verdict::kWait;
}

void RestartPlan::Hurry() {
  MutexLock lock(mutex_);
  not_before_ = began_;
}

void RestartPlan::Postpone(Clock::time_point now) {
  MutexLock lock(mutex_);
  not_before_ = now + kPostponed;
  wanted_ = false;
}

}  // namespace keysieve
