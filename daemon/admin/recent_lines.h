// SPDX-License-Identifier: MIT
// The last warnings and errors, kept for the status page: a log sink between the log and its real
// sink. Lines hold no bytes of blobs, so the page may show them.
//
//   RecentLines recent(32);
//   Log log = recent.Through(original);   // original's sink still gets what its level lets through
#pragma once

#include <chrono>
#include <deque>
#include <string>
#include <vector>

#include "daemon/config/log.h"
#include "evidence/base/mutex.h"

namespace keysieve::admin {

class RecentLines {
 public:
  struct Entry {
    std::chrono::system_clock::time_point when;
    config::LogLevel level = config::LogLevel::kWarning;
    std::string event;
    std::string message;
  };

  explicit RecentLines(size_t capacity) : capacity_(capacity) {}

  // A log that also keeps warnings and errors here, whatever the original's level. Borrows both
  // this and `original`.
  config::Log Through(const config::Log& original);

  // Newest first. Any thread.
  std::vector<Entry> Read() const;

 private:
  void Keep(const config::LogLine& line);

  const size_t capacity_;
  mutable Mutex mutex_;
  std::deque<Entry> entries_ ABSL_GUARDED_BY(mutex_);  // oldest first
};

}  // namespace keysieve::admin
