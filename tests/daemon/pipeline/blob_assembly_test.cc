// SPDX-License-Identifier: MIT
#include "daemon/blob_assembly.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace keysieve::pipeline {
namespace {

TEST(SeenIds, AgreesWithASetOnRandomOrders) {
  std::mt19937 random(5);
  for (int round = 0; round < 50; ++round) {
    SeenIds seen;
    std::set<uint64_t> oracle;
    for (int i = 0; i < 300; ++i) {
      const uint64_t id = random() % 200;
      EXPECT_EQ(seen.Add(id), oracle.insert(id).second) << id;
    }
  }
}

TEST(SeenIds, TakesTheEndsOfTheRange) {
  SeenIds seen;
  EXPECT_TRUE(seen.Add(UINT64_MAX));
  EXPECT_TRUE(seen.Add(0));
  EXPECT_TRUE(seen.Add(UINT64_MAX - 1));
  EXPECT_FALSE(seen.Add(UINT64_MAX));
  EXPECT_FALSE(seen.Add(0));
}

}  // namespace
}  // namespace keysieve::pipeline
