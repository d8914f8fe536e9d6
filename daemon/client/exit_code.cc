// SPDX-License-Identifier: MIT
// The precedence of exits, in one place.
#include "daemon/client/exit_code.h"

namespace keysieve::client {

int ExitCodeOf(const Outcome& outcome, int findings_code) {
  if (outcome.interrupted) return kExitInterrupted;
  if (outcome.usage) return kExitUsage;
  if (outcome.failed) return kExitService;
  if (outcome.findings > 0 && findings_code != 0) return findings_code;
  if (outcome.gaps > 0) return kExitGap;
  return kExitClean;
}

}  // namespace keysieve::client
