// SPDX-License-Identifier: MIT
// Turns a completed flight's events into stage times and overlap. CUDA tells only differences of
// events, in floats: each flight is told from the newest finished one before it, so that precision
// does not fade with uptime.
#pragma once

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "backends/cuda/flight.h"
#include "backends/device.h"
#include "backends/overlap.h"

namespace keysieve::backends::cuda {

class Timekeeper {
 public:
  // Stamps the flight's record too.
  absl::StatusOr<StageTimes> Read(Flight& flight);
  // Keeps `flight` if it is the newest submitted so far; gives back the one no longer needed.
  std::unique_ptr<Flight> Keep(std::unique_ptr<Flight> flight);

 private:
  absl::StatusOr<uint64_t> Place(const Flight& flight) const;

  std::unique_ptr<Flight> newest_;
  OverlapTracker overlap_;
};

}  // namespace keysieve::backends::cuda
