// SPDX-License-Identifier: MIT
// Puts submissions on the streams, with the events that order and time them.
#pragma once

#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "backends/cuda/context.h"
#include "backends/cuda/flight.h"
#include "backends/device.h"

namespace keysieve::backends::cuda {

// All of it was checked; on error part of it may be on its way. Never blocks.
class Submitter {
 public:
  Submitter(Context& context, const Streams& streams) : context_(context), streams_(streams) {}

  absl::Status Enqueue(const Submission& submission, Flight& flight);
  absl::Status EnqueueResident(const Launch& launch, Flight& flight);
  absl::Status EnqueueWord(std::span<const Copy> uploads, const BufferRange& word, uint32_t value,
                           Flight& flight);

 private:
  absl::Status EnqueueUploads(std::span<const Fill> fills, std::span<const Copy> uploads,
                              Flight& flight);
  absl::Status EnqueueFills(std::span<const Fill> fills);
  absl::Status EnqueueCopies(std::span<const Copy> copies, const Stream& stream);

  Context& context_;
  const Streams& streams_;
};

}  // namespace keysieve::backends::cuda
