// SPDX-License-Identifier: MIT
// What is said once, what is lost, and what closing a context gives back.
#include "evidence/once_set.h"

#include <gtest/gtest.h>

namespace keysieve::evidence {
namespace {

using Outcome = OnceSet::Outcome;

TEST(OnceSet, ARepeatIsNoLoss) {
  OnceSet said({.contexts = 1, .devices = 1, .capacity = 8});
  EXPECT_EQ(said.Insert(0, 0, 0), Outcome::kFirst);
  EXPECT_EQ(said.Insert(0, 0, 0), Outcome::kRepeat);
  EXPECT_EQ(said.size(), 1u);
  EXPECT_EQ(said.losses(), 0u);
}

TEST(OnceSet, AnotherItemDeviceOrContextIsDistinct) {
  OnceSet said({.contexts = 2, .devices = 2, .capacity = 8});
  EXPECT_EQ(said.Insert(0, 0, 1), Outcome::kFirst);
  EXPECT_EQ(said.Insert(0, 0, 2), Outcome::kFirst);
  EXPECT_EQ(said.Insert(0, 1, 1), Outcome::kFirst);
  EXPECT_EQ(said.Insert(1, 0, 1), Outcome::kFirst);
  EXPECT_EQ(said.size(), 4u);
}

TEST(OnceSet, ExactCapacityLosesNothing) {
  OnceSet said({.contexts = 10, .devices = 1, .capacity = 10});
  for (std::size_t context = 0; context < 10; ++context) {
    EXPECT_EQ(said.Insert(context, 0, 0), Outcome::kFirst);
  }
  EXPECT_EQ(said.losses(), 0u);
}

TEST(OnceSet, NOverLosesNAndARepeatAfterOverflowAddsNone) {
  OnceSet said({.contexts = 13, .devices = 1, .capacity = 10});
  for (std::size_t context = 0; context < 13; ++context) {
    EXPECT_EQ(said.Insert(context, 0, 0), context < 10 ? Outcome::kFirst : Outcome::kLost);
  }
  EXPECT_EQ(said.losses(), 3u);
  for (std::size_t context = 0; context < 13; ++context) {
    EXPECT_EQ(said.Insert(context, 0, 0), Outcome::kRepeat) << context;
  }
  EXPECT_EQ(said.losses(), 3u);
  EXPECT_EQ(said.size(), 10u);
}

TEST(OnceSet, LossSaturates) {
  OnceSet said({.contexts = 10, .devices = 1, .capacity = 1, .loss_limit = 4});
  for (std::size_t context = 0; context < 10; ++context) said.Insert(context, 0, 0);
  EXPECT_EQ(said.losses(), 4u);
}

TEST(OnceSet, AClosedContextGivesItsPlacesBack) {
  OnceSet said({.contexts = 2, .devices = 3, .capacity = 6});
  for (std::size_t device = 0; device < 3; ++device) {
    EXPECT_EQ(said.Insert(0, device, 0), Outcome::kFirst);
    EXPECT_EQ(said.Insert(0, device, 4), Outcome::kFirst);
  }
  EXPECT_EQ(said.Insert(1, 0, 0), Outcome::kLost);
  said.Release(0);
  EXPECT_EQ(said.size(), 0u);
  EXPECT_EQ(said.Insert(0, 0, 0), Outcome::kFirst);
  EXPECT_EQ(said.Insert(1, 1, 0), Outcome::kFirst);
  EXPECT_EQ(said.size(), 2u);
}

TEST(OnceSet, ALostItemIsForgottenWithItsContext) {
  OnceSet said({.contexts = 2, .devices = 1, .capacity = 1});
  EXPECT_EQ(said.Insert(0, 0, 0), Outcome::kFirst);
  EXPECT_EQ(said.Insert(1, 0, 0), Outcome::kLost);
  said.Release(0);
  said.Release(1);
  EXPECT_EQ(said.Insert(1, 0, 0), Outcome::kFirst);
  EXPECT_EQ(said.losses(), 1u);
}

TEST(OnceSet, AllSeenCountsWhatWasLostAsSeen) {
  OnceSet said({.contexts = 1, .devices = 1, .capacity = 1});
  EXPECT_FALSE(said.AllSeen(0, 0, 0b11));
  said.Insert(0, 0, 0);
  EXPECT_FALSE(said.AllSeen(0, 0, 0b11));
  EXPECT_TRUE(said.AllSeen(0, 0, 0b01));
  said.Insert(0, 0, 1);
  EXPECT_TRUE(said.AllSeen(0, 0, 0b11));
}

}  // namespace
}  // namespace keysieve::evidence
