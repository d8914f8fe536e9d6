// SPDX-License-Identifier: MIT
// How fast a program reads pinned memory over the link, with nothing else to do: the ceiling of
// whatever scans text where it lies.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "absl/status/statusor.h"
#include "backends/device.h"

namespace keysieve::bench {

class LinkProbe {
 public:
  // UNAVAILABLE where the device or this build has no such program.
  static absl::StatusOr<std::unique_ptr<LinkProbe>> Open(backends::Device& device);

  // Reads up to `bytes` of `pinned`, rounded down to what the program takes. Device seconds.
  absl::StatusOr<double> ReadPinned(const backends::Buffer& pinned, uint64_t bytes);
  uint64_t last_bytes() const { return last_bytes_; }

 private:
  explicit LinkProbe(backends::Device& device) : device_(device) {}
  backends::Device& device_;
  std::unique_ptr<backends::Program> program_;
  std::unique_ptr<backends::Buffer> sink_;
  uint64_t last_bytes_ = 0;
};

// The program's code; empty if not built.
std::span<const std::byte> LinkProbeCode();

}  // namespace keysieve::bench
