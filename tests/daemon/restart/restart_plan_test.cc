// SPDX-License-Identifier: MIT
#include "daemon/restart_plan.h"

#include <gtest/gtest.h>

namespace keysieve {
namespace {

using namespace std::chrono_literals;
using Verdict = RestartPlan::Verdict;

const RestartPlan::Clock::time_point kBegan{1000h};

TEST(RestartPlan, NeverIsNever) {
  RestartPlan plan(false, 30s, 0, kBegan);
  plan.Hurry();
  EXPECT_EQ(plan.Look(kBegan + 24h, true, 0), Verdict::kNotWanted);
}

TEST(RestartPlan, WithoutADeviceGivenUpNothingHappens) {
  RestartPlan plan(true, 30s, 0, kBegan);
  EXPECT_EQ(plan.Look(kBegan + 24h, false, 0), Verdict::kNotWanted);
}

TEST(RestartPlan, AQuietMomentIsTakenAtOnce) {
  RestartPlan plan(true, 30s, 0, kBegan);
  EXPECT_EQ(plan.Look(kBegan, true, 3), Verdict::kWait);
  EXPECT_EQ(plan.Look(kBegan + 1s, true, 0), Verdict::kNow);
}

TEST(RestartPlan, ScansUnderWayAreWaitedForSoLongAndNoLonger) {
  RestartPlan plan(true, 30s, 0, kBegan);
  EXPECT_EQ(plan.Look(kBegan + 5s, true, 1), Verdict::kWait);
  EXPECT_EQ(plan.Look(kBegan + 34s, true, 1), Verdict::kWait);
  EXPECT_EQ(plan.Look(kBegan + 35s, true, 1), Verdict::kNow);
}

TEST(RestartPlan, RestartsInARowAreFurtherAndFurtherApart) {
  EXPECT_EQ(RestartPlan::PauseBefore(0), 0s);
  EXPECT_EQ(RestartPlan::PauseBefore(1), 30s);
  EXPECT_EQ(RestartPlan::PauseBefore(2), 60s);
  EXPECT_EQ(RestartPlan::PauseBefore(100), 1h);
  RestartPlan plan(true, 30s, 2, kBegan);
  EXPECT_EQ(plan.Look(kBegan + 59s, true, 0), Verdict::kWait);
  EXPECT_EQ(plan.Look(kBegan + 60s, true, 0), Verdict::kNow);
  EXPECT_EQ(plan.next_restarts(kBegan + 60s), 3u);
}

TEST(RestartPlan, ALongQuietTimeForgetsThem) {
  RestartPlan plan(true, 30s, 7, kBegan);
  EXPECT_EQ(plan.next_restarts(kBegan + 2h), 1u);
}

TEST(RestartPlan, AnOperatorNeedsNotWaitForThePause) {
  RestartPlan plan(true, 30s, 5, kBegan);
  EXPECT_EQ(plan.Look(kBegan + 1s, true, 0), Verdict::kWait);
  plan.Hurry();
  EXPECT_EQ(plan.Look(kBegan + 2s, true, 0), Verdict::kNow);
}

TEST(RestartPlan, WhatCouldNotBeDoneIsTriedAgainLater) {
  RestartPlan plan(true, 30s, 0, kBegan);
  EXPECT_EQ(plan.Look(kBegan, true, 0), Verdict::kNow);
  plan.Postpone(kBegan);
  EXPECT_EQ(plan.Look(kBegan + 59s, true, 0), Verdict::kWait);
  EXPECT_EQ(plan.Look(kBegan + 60s, true, 5), Verdict::kWait);  // its wait begins anew
  EXPECT_EQ(plan.Look(kBegan + 90s, true, 5), Verdict::kNow);
}

}  // namespace
}  // namespace keysieve
