// SPDX-License-Identifier: MIT
// What a run of the client ends with. Several things can be true at once; the exit code says the
// one that matters most: interrupted, then unusable arguments, then a failed service, then
// findings, then a gap in the coverage.
#pragma once

#include <cstdint>

namespace keysieve::client {

inline constexpr int kExitClean = 0;
inline constexpr int kExitFindings = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitService = 3;
inline constexpr int kExitGap = 4;
inline constexpr int kExitInterrupted = 130;

struct Outcome {
  bool interrupted = false;
  bool usage = false;     // arguments, files or options nobody can work with
  bool failed = false;    // the service could not be reached or did not do what it promised
  uint64_t findings = 0;  // suppressed ones do not count
  uint64_t gaps = 0;      // exclusions do not count
};

// `findings_code` takes the place of 1 and of nothing else; where it is 0, findings decide nothing
// and a gap still ends as 4.
int ExitCodeOf(const Outcome& outcome, int findings_code);

}  // namespace keysieve::client
