// SPDX-License-Identifier: MIT
// Least recently used tables leave first; see table_cache.h.
#include "daemon/scheduler/table_cache.h"

#include "evidence/base/status.h"

namespace keysieve::scheduler {

absl::StatusOr<megakernel::TableHandle> TableCache::Get(megakernel::Session& session,
                                                        const megakernel::Table& table) {
  if (const auto it = entries_.find(table.digest); it != entries_.end()) {
    it->second.last_use = ++clock_;
    return it->second.handle;
  }
  for (;;) {
    auto handle = session.LoadTable(table);
    if (handle.ok()) {
      entries_[table.digest] = {*handle, ++clock_, 0};
      return *handle;
    }
    if (handle.status().code() != absl::StatusCode::kResourceExhausted) return handle.status();
    auto oldest = entries_.end();
    bool busy = false;
    for (auto it = entries_.begin(); it != entries_.end(); ++it) {
      if (it->second.in_flight > 0) {
        busy = true;
      } else if (oldest == entries_.end() || it->second.last_use < oldest->second.last_use) {
        oldest = it;
      }
    }
    if (oldest == entries_.end()) {
      if (busy) return absl::UnavailableError("the table arena is full of tables in use");
      return absl::ResourceExhaustedError(
          Cat("a table of ", table.words.size() * 4, " bytes fits no arena of ",
              session.geometry().table_bytes, " bytes; raise session.table_bytes"));
    }
    KS_RETURN_IF_ERROR(session.EvictTable(oldest->second.handle));
    entries_.erase(oldest);
  }
}

void TableCache::Ended(const std::string& digest) {
  const auto it = entries_.find(digest);
  if (it != entries_.end() && it->second.in_flight > 0) --it->second.in_flight;
}

}  // namespace keysieve::scheduler
