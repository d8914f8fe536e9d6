// SPDX-License-Identifier: MIT
// Which tables are resident in a session's arena. A table is loaded on first use and stays until
// the arena needs its room; the one unused for longest goes first. Belongs to one lane thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>

#include "absl/status/statusor.h"
#include "megakernel/session.h"

namespace keysieve::scheduler {

class TableCache {
 public:
  // The handle of `table`, loading it if need be. UNAVAILABLE: no room while batches in flight use
  // the others; ask again after one ends. RESOURCE_EXHAUSTED: larger than the arena.
  absl::StatusOr<megakernel::TableHandle> Get(megakernel::Session& session,
                                              const megakernel::Table& table);
  // A batch with this table was submitted, or came back.
  void Began(const std::string& digest) { ++entries_[digest].in_flight; }
  void Ended(const std::string& digest);
  void Clear() { entries_.clear(); }
  size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    megakernel::TableHandle handle;
    uint64_t last_use = 0;
    uint32_t in_flight = 0;
  };

  std::unordered_map<std::string, Entry> entries_;  // by digest
  uint64_t clock_ = 0;
};

}  // namespace keysieve::scheduler
