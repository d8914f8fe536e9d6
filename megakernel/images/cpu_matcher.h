// SPDX-License-Identifier: MIT
// The CPU image's state: which of the session's tables have a Vectorscan database, and a thread
// that makes one for a table that scans enough. Until there is one, and where there can be none,
// the shared body does the work: an answer never waits for a database and never depends on it.
//
//   CpuMatcher matcher(false);
//   matcher.Loaded(7, table);                       // lane thread
//   auto database = matcher.Find(7, slot_bytes);    // any thread; null: use the body
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "backends/device.h"
#include "evidence/base/mutex.h"
#include "megakernel/images/cpu_database.h"
#include "megakernel/images/table_follower.h"

namespace keysieve::megakernel {

class CpuMatcher final : public backends::HostState, public TableFollower {
 public:
  // A database costs some 25 us a literal, about what the body takes longer for this much text.
  static constexpr uint64_t kBytesPerLiteral = 16 << 10;

  explicit CpuMatcher(bool at_once) : at_once_(at_once) {}
  ~CpuMatcher() override;

  void Loaded(uint32_t generation, const Table& table) override;
  void Evicted(uint32_t generation) override;
  std::vector<std::string> TakeMessages() override;

  // The table's database, or null. Counts `bytes` as scanned by it, and orders a database once that
  // is enough.
  std::shared_ptr<const CpuDatabase> Find(uint32_t generation, uint64_t bytes);

 private:
  struct Entry {
    std::shared_ptr<const Table> table;  // null once its database is ready or refused
    std::shared_ptr<const CpuDatabase> database;
    uint64_t scanned = 0;  // bytes
    bool ordered = false;
  };

  void Order(uint32_t generation, Entry& entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Work();
  void Settle(uint32_t generation, const absl::StatusOr<std::shared_ptr<const CpuDatabase>>& made)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const bool at_once_;
  Mutex mutex_;
  CondVar ordered_;
  std::map<uint32_t, Entry> entries_ ABSL_GUARDED_BY(mutex_);  // by generation
  std::deque<uint32_t> orders_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> messages_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread worker_ ABSL_GUARDED_BY(mutex_);  // started with the first order
};

}  // namespace keysieve::megakernel
