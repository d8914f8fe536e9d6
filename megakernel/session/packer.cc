// SPDX-License-Identifier: MIT
#include "megakernel/session/packer.h"

#include <algorithm>
#include <numeric>

#include "evidence/base/status.h"

namespace keysieve::megakernel {
namespace {

constexpr uint32_t kTileBytes = 1u << KS_TILE_SHIFT;

absl::Status CheckPiece(size_t index, const Piece& piece, const Geometry& geometry) {
  if (piece.text.size() > geometry.batch_bytes) {
    return absl::InvalidArgumentError(Cat("piece ", index, " has ", piece.text.size(),
                                          " bytes; a batch holds ", geometry.batch_bytes,
                                          ": cut the piece"));
  }
  if (piece.owned_begin > piece.owned_end || piece.owned_end > piece.text.size()) {
    return absl::InvalidArgumentError(Cat("piece ", index, " owns [", piece.owned_begin, ", ",
                                          piece.owned_end, ") of ", piece.text.size(), " bytes"));
  }
  if (piece.tenant >= geometry.tenants) {
    return absl::InvalidArgumentError(
        Cat("piece ", index, " names tenant ", piece.tenant, "; there are ", geometry.tenants));
  }
  return absl::OkStatus();
}

absl::Status CheckPieces(std::span<const Piece> pieces, const Geometry& geometry,
                         const Layout& layout) {
  if (pieces.size() > layout.max_pieces) {
    return absl::InvalidArgumentError(Cat("the batch has ", pieces.size(),
                                          " pieces; it may have at most ", layout.max_pieces,
                                          ": submit several batches"));
  }
  uint64_t total = 0;
  for (size_t i = 0; i < pieces.size(); ++i) {
    KS_RETURN_IF_ERROR(CheckPiece(i, pieces[i], geometry));
    total += pieces[i].text.size();
  }
  if (total > geometry.batch_bytes) {
    return absl::InvalidArgumentError(Cat("the batch's pieces have ", total,
                                          " bytes; a batch holds ", geometry.batch_bytes,
                                          ": submit several batches"));
  }
  return absl::OkStatus();
}

void PlaceBlobs(std::span<const Piece> pieces, Packing& packing) {
  packing.piece_of.resize(pieces.size());
  std::iota(packing.piece_of.begin(), packing.piece_of.end(), 0u);
  std::stable_sort(packing.piece_of.begin(), packing.piece_of.end(),
                   [&](uint32_t a, uint32_t b) { return pieces[a].tenant < pieces[b].tenant; });
  packing.blobs.reserve(pieces.size());
  for (uint32_t index : packing.piece_of) {
    const Piece& piece = pieces[index];
    Blob blob;
    blob.begin = packing.text_end;
    blob.end = blob.begin + static_cast<uint32_t>(piece.text.size());
    blob.own_begin = blob.begin + piece.owned_begin;
    blob.own_end = blob.begin + piece.owned_end;
    blob.flags = (piece.begins_blob ? KS_BLOB_BEGINS : 0) | (piece.ends_blob ? KS_BLOB_ENDS : 0);
    blob.tenant = piece.tenant;
    packing.blobs.push_back(blob);
    packing.text_end = blob.end;
  }
}

void IndexTiles(Packing& packing) {
  const uint32_t tiles = (packing.text_end + kTileBytes - 1) >> KS_TILE_SHIFT;
  packing.tile_index.reserve(tiles + 1);
  uint32_t blob = 0;
  for (uint32_t tile = 0; tile < tiles; ++tile) {
    while (blob + 1 < packing.blobs.size() && packing.blobs[blob + 1].begin <= tile * kTileBytes) {
      ++blob;
    }
    packing.tile_index.push_back(blob);
  }
  packing.tile_index.push_back(packing.blobs.empty() ? 0 : packing.blobs.size() - 1);
}

// At most slots_per_batch units and one more for each tenant: LayOut() left room for them.
void CutUnits(const Layout& layout, Packing& packing) {
  const uint64_t fair =
      (packing.text_bytes() + layout.slots_per_batch - 1) / layout.slots_per_batch;
  const uint32_t unit = static_cast<uint32_t>((fair + kTileBytes - 1) / kTileBytes) * kTileBytes;
  for (size_t first = 0; first < packing.blobs.size();) {
    const uint32_t tenant = packing.blobs[first].tenant;
    size_t last = first;
    while (last + 1 < packing.blobs.size() && packing.blobs[last + 1].tenant == tenant) ++last;
    const uint32_t end = packing.blobs[last].end;
    for (uint32_t begin = packing.blobs[first].begin; begin < end;) {
      const uint32_t next = end - begin > unit ? begin + unit : end;
      packing.units.push_back({begin, next, tenant});
      begin = next;
    }
    first = last + 1;
  }
}

}  // namespace

absl::StatusOr<Packing> Pack(std::span<const Piece> pieces, const Geometry& geometry,
                             const Layout& layout) {
  KS_RETURN_IF_ERROR(CheckPieces(pieces, geometry, layout));
  Packing packing;
  PlaceBlobs(pieces, packing);
  IndexTiles(packing);
  CutUnits(layout, packing);
  return packing;
}

}  // namespace keysieve::megakernel
