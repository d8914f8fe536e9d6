// SPDX-License-Identifier: MIT
// Turns a Geometry into sizes and word offsets, or refuses it with the field's name, value and
// limit. Pure; the session and the tests share it.
//
//   auto layout = LayOut(geometry, device.limits(), device.identity());
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "backends/device.h"
#include "megakernel/session.h"

namespace keysieve::megakernel {

// Sizes of one session's buffers. Words are 32 bits; text sizes include the lead and the slack.
struct Layout {
  uint32_t ring_at = 0;          // word of the control binding
  uint32_t control_words = 0;    // control block, log, tenant arrays and ring
  uint32_t slots_per_batch = 0;  // a batch aims at no more units than this ...
  uint32_t max_pieces = 0;       // pieces of one batch
  uint32_t blob_words = 0;       // blob table and tile index
  uint32_t tiles = 0;
  uint64_t text_buffer_bytes = 0;
  uint32_t table_words = 0;
  uint32_t max_hits = 0;    // hit records the queue may grow to
  uint32_t step_limit = 0;  // loop turns of one invocation in one slot; 0 = no limit
};

// INVALID_ARGUMENT if the ABI or the device cannot hold the geometry.
absl::StatusOr<Layout> LayOut(const Geometry& geometry, const backends::Limits& limits,
                              const backends::Identity& identity);

}  // namespace keysieve::megakernel
