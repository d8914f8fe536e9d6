// SPDX-License-Identifier: MIT
// What an image wants to know of the tables that come and go, beside what lies in the arena. The
// session tells it; an image that needs nothing more than the arena has none.
//
//   auto follower = FollowTables(image, false);       // null for most images
//   if (follower) follower->Loaded(handle.generation, table);
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backends/device.h"
#include "megakernel/table.h"

namespace keysieve::megakernel {

// Told by the lane thread; generations are the session's and name a table for good.
class TableFollower {
 public:
  virtual ~TableFollower() = default;
  virtual void Loaded(uint32_t generation, const Table& table) = 0;
  virtual void Evicted(uint32_t generation) = 0;
  // A sentence for each thing worth the log since the last call; never any text or literal.
  virtual std::vector<std::string> TakeMessages() = 0;
};

// Gives the CPU's image its Vectorscan route, which finds the shared body's hits faster. Before a
// table's database is ready, and for what Vectorscan refuses, the body runs. A database is compiled
// apart from the caller, once the table has scanned enough text to be worth it; `at_once`: in
// Loaded(), before it returns. Null, and the image as it was, for other backends.
std::shared_ptr<TableFollower> FollowTables(backends::Image& image, bool at_once);

}  // namespace keysieve::megakernel
