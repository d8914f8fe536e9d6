// SPDX-License-Identifier: MIT
// A bounded queue behind a sink; see recent_lines.h.
#include "daemon/admin/recent_lines.h"

#include <algorithm>

namespace keysieve::admin {

config::Log RecentLines::Through(const config::Log& original) {
  const auto level = std::min(original.level(), config::LogLevel::kWarning);
  return config::Log(level, [this, &original](const config::LogLine& line) {
    if (line.level >= config::LogLevel::kWarning) Keep(line);
    original.Write(line.level, line.event, line.message, line.fields);
  });
}

std::vector<RecentLines::Entry> RecentLines::Read() const {
  MutexLock lock(mutex_);
  return {entries_.rbegin(), entries_.rend()};
}

void RecentLines::Keep(const config::LogLine& line) {
  MutexLock lock(mutex_);
  entries_.push_back({std::chrono::system_clock::now(), line.level, line.event, line.message});
  if (entries_.size() > capacity_) entries_.pop_front();
}

}  // namespace keysieve::admin
