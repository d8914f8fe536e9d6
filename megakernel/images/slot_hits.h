// SPDX-License-Identifier: MIT
// Finds one slot's hits with a Vectorscan database: takes its matches, keeps those that start in
// the slot and lie in one blob, and brings them into order. No shared state; one a scan.
//
//   SlotHits hits(database, text, keys, {begin, end, readable}, bounds_of, context);
//   if (hits.Find(workspace)) Publish(keys);
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "megakernel/images/cpu_database.h"

namespace keysieve::megakernel {

// Positions of a slot in its epoch's text: owned range, and the end of what may be read.
struct SlotBounds {
  uint32_t begin = 0;
  uint32_t end = 0;
  uint32_t readable = 0;
};

// Of one blob; empty where there is none.
struct BlobBounds {
  uint32_t own_begin = 0;
  uint32_t own_end = 0;
  uint32_t end = 0;
};

class SlotHits {
 public:
  // The blob at a position of the text.
  using BoundsOf = BlobBounds (*)(void* context, uint32_t position);
  // Text with more hits than this in a slot is left to the shared body, which stores none aside.
  static constexpr size_t kMost = 1 << 17;

  // `text` is position 0; `keys` receives the hits, ordered by (position, length, literal).
  // Everything is borrowed.
  SlotHits(const CpuDatabase& database, const uint8_t* text, std::vector<uint64_t>& keys,
           SlotBounds slot, BoundsOf bounds_of, void* context)
      : database_(database),
        text_(text),
        keys_(keys),
        slot_(slot),
        bounds_of_(bounds_of),
        context_(context) {}

  // False: `keys` is not whole.
  bool Find(const CpuDatabase::Workspace& workspace);
  uint32_t pairs() const { return pairs_; }  // matches looked at

  static uint32_t PositionOf(uint64_t key) { return static_cast<uint32_t>(key >> 28); }
  static uint32_t LiteralOf(uint64_t key) { return static_cast<uint32_t>(key & 0xfffff); }

 private:
  static int OnMatch(unsigned group, unsigned long long, unsigned long long to, unsigned,
                     void* hits);
  bool Take(const LiteralGroup& group, uint32_t start);
  bool FindNuls();
  void Sort();

  const CpuDatabase& database_;
  const uint8_t* const text_;
  std::vector<uint64_t>& keys_;
  const SlotBounds slot_;
  const BoundsOf bounds_of_;
  void* const context_;
  BlobBounds blob_;  // of the last hit
  uint32_t pairs_ = 0;
};

}  // namespace keysieve::megakernel
