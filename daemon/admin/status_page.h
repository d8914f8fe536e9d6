// SPDX-License-Identifier: MIT
// The page at the admin port's `/`: devices, lanes and their rings, throughput and latency as small
// charts, gaps, recent faults. Rendered here whole, charts too, so that it says the same without a
// script; the script only fetches the middle part again. No asset comes from elsewhere. Pure
// functions: what they show is handed in, and every string is escaped.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/admin/history.h"
#include "daemon/admin/recent_lines.h"
#include "daemon/scan_counters.h"
#include "daemon/scheduler/lane.h"
#include "evidence/device_ledger.h"

namespace keysieve::admin {

struct StatusView {
  std::string version;
  double uptime_seconds = 0;
  bool ready = false;
  bool draining = false;
  std::string route_reason;
  std::string rules;  // name, count and digest
  std::chrono::system_clock::time_point rules_loaded_at;
  std::chrono::system_clock::time_point now;
  uint32_t streams = 0;
  uint32_t stream_limit = 0;
  uint64_t memory_in_use = 0;
  uint64_t memory_limit = 0;
  uint32_t ring_slots = 0;  // of each lane
  std::vector<scheduler::LaneStatus> lanes;
  std::vector<evidence::DeviceSnapshot> devices;  // accelerators that were used
  pipeline::ScanCounters::Values counts;
  std::vector<Point> history;
  std::vector<RecentLines::Entry> recent;
};

// The whole document.
std::string StatusPage(const StatusView& view);
// What changes: the content of <main>.
std::string StatusMain(const StatusView& view);

std::string_view StatusStyle();   // text/css
std::string_view StatusScript();  // text/javascript

}  // namespace keysieve::admin
