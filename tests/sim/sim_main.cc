// SPDX-License-Identifier: MIT
// Runs seeds until the time is over or their number is reached, prints what happened in them, and
// ends with 1 at the first that breaks, saying how to run it again.
//
//   fault_sim [--seconds S] [--seeds N] [--first F] [--seed ONE]
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include "tests/sim/world.h"

namespace {

struct Arguments {
  uint64_t first = 1;
  uint64_t seeds = UINT64_MAX;
  double seconds = 0;  // 0: no limit
};

bool Parse(int argc, char** argv, Arguments* to) {
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    const double value = std::atof(argv[i + 1]);
    if (name == "--seconds") {
      to->seconds = value;
    } else if (name == "--seeds") {
      to->seeds = static_cast<uint64_t>(value);
    } else if (name == "--first" || name == "--seed") {
      to->first = static_cast<uint64_t>(value);
      if (name == "--seed") to->seeds = 1;
    } else {
      return false;
    }
  }
  return argc % 2 == 1 && (to->seconds > 0 || to->seeds != UINT64_MAX);
}

// So many at least, however slow the machine: each kind of trouble comes up among them.
constexpr uint64_t kLeastSeeds = 60;

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  if (!Parse(argc, argv, &arguments)) {
    std::fprintf(stderr, "usage: fault_sim [--seconds S] [--seeds N] [--first F] [--seed ONE]\n");
    return 2;
  }
  const auto began = std::chrono::steady_clock::now();
  const auto seconds = [began] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  };
  std::map<std::string, uint64_t> counts;
  uint64_t done = 0;
  for (; done < arguments.seeds; ++done) {
    if (arguments.seconds > 0 && seconds() >= arguments.seconds && done >= kLeastSeeds) break;
    const uint64_t seed = arguments.first + done;
    const keysieve::sim::Report report = keysieve::sim::RunWorld(seed);
    for (const auto& [name, count] : report.counts) counts[name] += count;
    ++counts["seeds: " + report.profile];
    if (report.broken.empty()) continue;
    std::printf("seed %llu (%s) broke; again with --seed %llu\n",
                static_cast<unsigned long long>(seed), report.profile.c_str(),
                static_cast<unsigned long long>(seed));
    for (const std::string& sentence : report.broken) std::printf("  %s\n", sentence.c_str());
    return 1;
  }
  std::printf("seeds %llu to %llu hold, %.1f s\n", static_cast<unsigned long long>(arguments.first),
              static_cast<unsigned long long>(arguments.first + done - 1), seconds());
  for (const auto& [name, count] : counts) {
    std::printf("  %-24s %llu\n", name.c_str(), static_cast<unsigned long long>(count));
  }
  return 0;
}
