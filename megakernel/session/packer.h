// SPDX-License-Identifier: MIT
// Lays the pieces of a batch out as one text: where each lies, the blob table with its tile index,
// and the units (one slot each) that share the work out. Pure; touches no bytes of the text.
//
// Pieces lie end to end with nothing between them, so that a batch is one copy of exactly the bytes
// submitted. Units never span two tenants: pieces are laid out by tenant, in order within each.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "megakernel/abi.h"
#include "megakernel/geometry.h"
#include "megakernel/session.h"

namespace keysieve::megakernel {

// A range of text positions that one slot owns.
struct Unit {
  uint32_t begin = 0;
  uint32_t end = 0;
  uint32_t tenant = 0;
};

struct Packing {
  std::vector<Blob> blobs;           // by position
  std::vector<uint32_t> piece_of;    // piece of each blob
  std::vector<uint32_t> tile_index;  // see KS_TILE_SHIFT
  std::vector<Unit> units;           // by position; none if there is no text
  uint32_t text_end = KS_TEXT_LEAD;  // positions are [KS_TEXT_LEAD, text_end)
  uint64_t text_bytes() const { return text_end - KS_TEXT_LEAD; }
};

// INVALID_ARGUMENT names the piece that leaves its own bounds, or the batch's limit that is passed.
absl::StatusOr<Packing> Pack(std::span<const Piece> pieces, const Geometry& geometry,
                             const Layout& layout);

}  // namespace keysieve::megakernel
