// SPDX-License-Identifier: MIT
// Who lies where in the session's table arena: a directory of resident tables over one preallocated
// buffer, first fit, freed extents joined. Host bookkeeping only; nothing here touches the device.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "megakernel/abi.h"
#include "megakernel/session.h"
#include "megakernel/table.h"

namespace keysieve::megakernel {

// Lane thread only.
class TableArena {
 public:
  explicit TableArena(uint32_t words);

  struct Resident {
    std::vector<uint8_t> lengths;  // of each literal, in bytes
    uint32_t at = 0;               // word in the arena
    uint32_t words = 0;
    uint32_t generation = 0;  // 0: free
    uint32_t users = 0;       // batches in flight
    bool evicted = false;
  };

  // Claims an extent and a directory entry. RESOURCE_EXHAUSTED names what is short.
  absl::StatusOr<TableHandle> Claim(const Table& table);
  // NOT_FOUND for a stale or evicted handle. The pointer is good until the table is freed.
  absl::StatusOr<const Resident*> Find(TableHandle handle) const;
  // Marks the table; its extent is freed when the last user leaves. NOT_FOUND as above.
  absl::Status Evict(TableHandle handle);
  // A batch in flight holds the table of a handle that Find() accepted.
  void Hold(TableHandle handle);
  void Leave(TableHandle handle);

  const Resident& resident(uint32_t id) const { return tables_[id]; }
  std::array<DirectoryEntry, KS_CTL_DIRECTORY> Directory() const;
  uint32_t free_words() const;

 private:
  absl::StatusOr<uint32_t> ClaimExtent(uint32_t words);
  void Free(uint32_t id);

  uint32_t words_;
  std::array<Resident, KS_CTL_DIRECTORY> tables_;
  std::map<uint32_t, uint32_t> free_;  // first word -> words
  uint32_t next_generation_ = 1;
};

}  // namespace keysieve::megakernel
