// SPDX-License-Identifier: MIT
// One seed's world: blobs of several requests, two lanes with real sessions, one on a device that
// fails by dice and one that is the CPU route, all stepped by one thread on a virtual clock. The
// same seed is the same run.
//
//   const Report report = RunWorld(seed);
//   if (!report.broken.empty()) ...
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace keysieve::sim {

struct Report {
  std::vector<std::string> broken;         // what did not hold, in sentences
  std::map<std::string, uint64_t> counts;  // what happened, to show that everything does
  std::string profile;                     // the seed's kind of trouble
};

Report RunWorld(uint64_t seed);

}  // namespace keysieve::sim
