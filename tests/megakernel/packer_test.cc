// SPDX-License-Identifier: MIT
#include "megakernel/session/packer.h"

#include <gtest/gtest.h>

#include <random>

namespace keysieve::megakernel {
namespace {

Piece PieceOf(const std::vector<uint8_t>& text, uint32_t tenant = 0) {
  Piece piece;
  piece.text = text;
  piece.owned_end = static_cast<uint32_t>(text.size());
  piece.tenant = tenant;
  return piece;
}

class Packer : public testing::Test {
 protected:
  absl::StatusOr<Packing> Try(std::span<const Piece> pieces) {
    return Pack(pieces, geometry_, *LayOut(geometry_, {}, {}));
  }
  Geometry geometry_{
      .slots = 16, .workgroup = 16, .tenants = 4, .batches = 2, .batch_bytes = 100000};
};

TEST_F(Packer, LaysPiecesEndToEndAndCountsTheirBytesExactly) {
  const std::vector<uint8_t> a(5), b(4091), c(0), d(9000);
  const std::vector<Piece> pieces = {PieceOf(a), PieceOf(b), PieceOf(c), PieceOf(d)};
  const auto packing = Try(pieces);
  ASSERT_TRUE(packing.ok()) << packing.status();
  EXPECT_EQ(packing->text_bytes(), 5u + 4091 + 9000);
  uint32_t at = KS_TEXT_LEAD;
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(packing->piece_of[i], i);
    EXPECT_EQ(packing->blobs[i].begin, at);
    at += static_cast<uint32_t>(pieces[i].text.size());
    EXPECT_EQ(packing->blobs[i].end, at);
  }
}

TEST_F(Packer, TileIndexNamesTheLastBlobThatBeginsAtOrBeforeATile) {
  std::mt19937 random(1);
  for (int round = 0; round < 50; ++round) {
    std::vector<std::vector<uint8_t>> texts(1 + random() % 60);
    std::vector<Piece> pieces;
    for (auto& text : texts) {
      text.resize(random() % 3 == 0 ? 0 : random() % 1500);
      pieces.push_back(PieceOf(text));
    }
    const auto packing = Try(pieces);
    ASSERT_TRUE(packing.ok());
    for (uint32_t tile = 0; tile + 1 < packing->tile_index.size(); ++tile) {
      uint32_t want = 0;
      for (uint32_t i = 0; i < pieces.size(); ++i) {
        if (packing->blobs[i].begin <= tile << KS_TILE_SHIFT) want = i;
      }
      EXPECT_EQ(packing->tile_index[tile], want);
    }
    EXPECT_EQ(packing->tile_index.back(), pieces.size() - 1);
  }
}

TEST_F(Packer, UnitsCoverTheTextOnceAndNeverSpanTenants) {
  std::mt19937 random(2);
  for (int round = 0; round < 50; ++round) {
    std::vector<std::vector<uint8_t>> texts(1 + random() % 30);
    std::vector<Piece> pieces;
    for (auto& text : texts) {
      text.resize(random() % 3000);
      pieces.push_back(PieceOf(text, random() % 4));
    }
    const auto packing = Try(pieces);
    ASSERT_TRUE(packing.ok());
    EXPECT_LE(packing->units.size(), geometry_.slots);
    uint32_t at = KS_TEXT_LEAD;
    for (const Unit& unit : packing->units) {
      EXPECT_EQ(unit.begin, at);
      EXPECT_LT(unit.begin, unit.end);
      at = unit.end;
      for (const Blob& blob : packing->blobs) {
        if (blob.begin < unit.end && unit.begin < blob.end) {
          EXPECT_EQ(blob.tenant, unit.tenant);
        }
      }
    }
    EXPECT_EQ(at, packing->text_end);
  }
}

TEST_F(Packer, NamesThePieceItRefuses) {
  const std::vector<uint8_t> text(10);
  std::vector<Piece> pieces = {PieceOf(text), PieceOf(text)};
  pieces[1].owned_end = 11;
  EXPECT_EQ(Try(pieces).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(std::string(Try(pieces).status().message()).find("piece 1"), std::string::npos);
  pieces[1] = PieceOf(text, 4);
  EXPECT_EQ(Try(pieces).status().code(), absl::StatusCode::kInvalidArgument);
  pieces[1] = PieceOf(text);
  pieces[1].owned_begin = 5;
  pieces[1].owned_end = 4;
  EXPECT_EQ(Try(pieces).status().code(), absl::StatusCode::kInvalidArgument);
  const std::vector<uint8_t> large(60000);
  const std::vector<Piece> too_much = {PieceOf(large), PieceOf(large)};
  EXPECT_EQ(Try(too_much).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace keysieve::megakernel
