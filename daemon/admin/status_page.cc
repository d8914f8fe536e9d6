// SPDX-License-Identifier: MIT
// Sections from top to bottom as the page has them; see status_page.h.
#include "daemon/admin/status_page.h"

#include <algorithm>
#include <ctime>

#include "daemon/admin/html.h"
#include "evidence/base/status.h"

namespace keysieve::admin {
namespace {

constexpr char kShell[] =
#include "daemon/admin/page/shell.html.inc"
    ;
constexpr char kStyle[] =
#include "daemon/admin/page/style.css.inc"
    ;
constexpr char kScript[] =
#include "daemon/admin/page/refresh.js.inc"
    ;

using Values = std::vector<std::optional<double>>;

std::string TimeText(std::chrono::system_clock::time_point when) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(when);
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  char text[32];
  std::strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%SZ", &utc);
  return text;
}

std::string DeviceName(const backends::Identity& id) {
  return Cat(backends::BackendName(id.backend), ":", id.index);
}

std::string Badge(std::string_view kind, std::string_view text) {
  return Cat("<span class=\"badge ", kind, "\">", Escaped(text), "</span>");
}

std::string StateBadge(const scheduler::LaneStatus& lane) {
  const bool open = lane.state == scheduler::LaneState::kOpen;
  return Badge(open ? "good" : "bad", scheduler::LaneStateName(lane.state));
}

// A bar of a part of a whole; the text beside it says the same.
std::string Meter(double part, double whole) {
  const double ratio = whole > 0 ? std::clamp(part / whole, 0.0, 1.0) : 0;
  return Cat(
      "<svg class=\"meter\" viewBox=\"0 0 100 8\" preserveAspectRatio=\"none\" "
      "aria-hidden=\"true\"><rect class=\"rail\" width=\"100\" height=\"8\"/>"
      "<rect class=\"fill\" width=\"",
      static_cast<int>(ratio * 100 + 0.5), "\" height=\"8\"/></svg>");
}

std::string Tile(std::string_view name, const std::string& value, const std::string& note) {
  return Cat("<div class=\"tile\"><h3>", name, "</h3><p class=\"value\">", value,
             "</p><p class=\"note\">", note, "</p></div>");
}

std::string Summary(const StatusView& v) {
  const std::string state = v.draining ? Badge("warn", "draining")
                            : v.ready  ? Badge("good", "ready")
                                       : Badge("bad", "not ready");
  std::string out = Cat("<p class=\"state\">", state, " keysieved ", Escaped(v.version),
                        ", up for ", DurationText(v.uptime_seconds), "</p>");
  const uint64_t scanned = [&] {
    uint64_t sum = 0;
    for (const auto& [route, bytes] : v.counts.route_bytes) sum += bytes;
    return sum;
  }();
  out += "<div class=\"tiles\">";
  out += Tile("Streams", CountText(v.streams), Cat("of ", CountText(v.stream_limit)));
  out +=
      Tile("Blob memory", BytesText(static_cast<double>(v.memory_in_use)),
           Cat("of ", BytesText(static_cast<double>(v.memory_limit)), " ",
               Meter(static_cast<double>(v.memory_in_use), static_cast<double>(v.memory_limit))));
  out += Tile("Blobs", CountText(static_cast<double>(v.counts.blobs)), "since the start");
  out += Tile("Scanned", BytesText(static_cast<double>(scanned)), "since the start");
  return out + "</div>";
}

// ---- Charts: what it is, what it is now, the last five minutes.

struct Chart {
  std::string title;
  std::string now;
  std::vector<Series> series;
  std::string legend;  // HTML
  std::string top;     // the scale's end
  double scale = 0;    // 0: the largest value
};

std::string Render(const Chart& chart) {
  return Cat("<figure><figcaption><h3>", chart.title, "</h3><p class=\"value\">", chart.now,
             "</p></figcaption><div class=\"plot\"><span class=\"top\">", chart.top, "</span>",
             LineChart(chart.series, History::kPoints, chart.title, chart.scale),
             "</div><p class=\"axis\"><span>5 min ago</span>", chart.legend,
             "<span>now</span></p></figure>");
}

template <typename Get>
Values ValuesOf(const std::vector<Point>& history, Get get) {
  Values values;
  for (const Point& point : history) values.push_back(get(point));
  return values;
}

double Most(const Values& values) {
  double most = 0;
  for (const auto& value : values) most = std::max(most, value.value_or(0));
  return most;
}

std::string Charts(const StatusView& v) {
  const auto bytes = ValuesOf(v.history, [](const Point& p) { return p.bytes_per_second; });
  const auto p50 = ValuesOf(v.history, [](const Point& p) { return p.p50_seconds; });
  const auto p99 = ValuesOf(v.history, [](const Point& p) { return p.p99_seconds; });
  const auto ring = ValuesOf(v.history, [](const Point& p) { return p.ring_used_ratio * 100; });
  const Point now = v.history.empty() ? Point{} : v.history.back();
  std::string out = "<section><h2>Last five minutes</h2><div class=\"charts\">";
  out += Render({.title = "Throughput",
                 .now = BytesText(now.bytes_per_second) + "/s",
                 .series = {{"line-a", bytes}},
                 .legend = Cat("<span>", CountText(now.blobs_per_second), " blobs/s</span>"),
                 .top = Most(bytes) > 0 ? BytesText(Most(bytes)) + "/s" : ""});
  const std::string p99_text = now.p99_seconds ? DurationText(*now.p99_seconds) : "idle";
  out += Render({.title = "Blob latency, p99",
                 .now = p99_text,
                 .series = {{"line-b", p99}, {"line-a", p50}},
                 .legend = "<span><i class=\"key-b\"></i>p99 <i class=\"key-a\"></i>p50</span>",
                 .top = Most(p99) > 0 ? DurationText(Most(p99)) : ""});
  out += Render({.title = "Ring, fullest lane",
                 .now = CountText(std::round(now.ring_used_ratio * 100)) + "%",
                 .series = {{"line-a", ring}},
                 .legend = "",
                 .top = "100%",
                 .scale = 100});
  return out + "</div></section>";
}

// ---- Tables.

std::string Lanes(const StatusView& v) {
  std::string out =
      "<section><h2>Devices and lanes</h2><div class=\"scroll\"><table><thead><tr>"
      "<th>Device</th><th>State</th><th>Ring</th><th class=\"n\">Batches</th>"
      "<th class=\"n\">Blobs queued</th><th class=\"n\">Resident</th></tr></thead><tbody>";
  for (const scheduler::LaneStatus& lane : v.lanes) {
    const backends::Identity& id = lane.identity;
    out += Cat(
        "<tr><td><b>", DeviceName(id), "</b> ", Escaped(id.name),
        id.software && id.backend != backends::BackendKind::kCpu ? " " + Badge("warn", "software")
                                                                 : "",
        "</td><td>", StateBadge(lane), lane.reason.empty() ? "" : Cat(" ", Escaped(lane.reason)),
        "</td><td>", Meter(lane.slots_used, v.ring_slots), lane.slots_used, " of ", v.ring_slots,
        "</td><td class=\"n\">", lane.batches_in_flight, "</td><td class=\"n\">",
        CountText(static_cast<double>(lane.queued_blobs)), "</td><td class=\"n\">",
        BytesText(static_cast<double>(lane.resident_bytes)), "</td></tr>");
  }
  return Cat(out, "</tbody></table></div><p class=\"note\">Route: ", Escaped(v.route_reason),
             ". Rules: ", Escaped(v.rules), ", loaded ", TimeText(v.rules_loaded_at),
             ".</p></section>");
}

std::string Ratio(const std::optional<double>& ratio) {
  return ratio ? CountText(std::round(*ratio * 100)) + "%" : "<span class=\"gap\">gap</span>";
}

std::string Accelerators(const StatusView& v) {
  if (v.devices.empty()) {
    return "<section><h2>Accelerators</h2><p class=\"empty\">No accelerator has done any work "
           "in this process.</p></section>";
  }
  using evidence::Counter;
  std::string out =
      "<section><h2>Accelerators</h2><div class=\"scroll\"><table><thead><tr><th>Device</th>"
      "<th class=\"n\">Dispatches</th><th class=\"n\">Uploaded</th><th class=\"n\">Kernel</th>"
      "<th class=\"n\">Busy</th><th class=\"n\">Queue wait</th><th class=\"n\">Occupancy</th>"
      "<th class=\"n\">Utilization</th><th class=\"n\">Faults</th><th>Cannot tell</th>"
      "</tr></thead><tbody>";
  for (const evidence::DeviceSnapshot& d : v.devices) {
    const auto time = [&](Counter c) {
      return DurationText(static_cast<double>(d.counters.Sum(c)) / 1e9);
    };
    std::string gaps;
    for (const evidence::CapabilityRow& row : evidence::kCapabilityRows) {
      if (d.capabilities.Has(static_cast<evidence::Capability>(row.number))) continue;
      gaps += Cat(gaps.empty() ? "" : ", ", row.name);
    }
    const bool clock = d.capabilities.kernel_timestamps;
    const std::string gap = "<span class=\"gap\">gap</span>";
    const uint64_t faults = d.counters.Sum(Counter::kFaults);
    out += Cat("<tr><td><b>", evidence::AcceleratorName(d.accelerator), ":", d.index,
               "</b></td><td class=\"n\">",
               CountText(static_cast<double>(d.counters.Of(Counter::kDispatchCalls))),
               "</td><td class=\"n\">",
               BytesText(static_cast<double>(d.counters.Sum(Counter::kUploadBytes))),
               "</td><td class=\"n\">", clock ? time(Counter::kKernelTime) : gap,
               "</td><td class=\"n\">", time(Counter::kBusyTime), "</td><td class=\"n\">",
               clock ? time(Counter::kQueueWaitTime) : gap, "</td><td class=\"n\">",
               Ratio(d.occupancy_ratio), "</td><td class=\"n\">", Ratio(d.utilization_ratio),
               "</td><td class=\"n\">",
               faults == 0 ? "0" : Badge("bad", CountText(static_cast<double>(faults))),
               "</td><td>", gaps.empty() ? "nothing" : gaps, "</td></tr>");
  }
  return out + "</tbody></table></div></section>";
}

std::string CountRows(std::string_view what, const pipeline::ScanCounters::ByLabel& counts) {
  std::string out;
  for (const auto& [label, count] : counts) {
    if (count == 0) continue;
    out += Cat("<tr><td>", what, "</td><td>", Escaped(label), "</td><td class=\"n\">",
               CountText(static_cast<double>(count)), "</td></tr>");
  }
  return out;
}

std::string Coverage(const StatusView& v) {
  const std::string rows =
      CountRows("gap", v.counts.gaps) + CountRows("exclusion", v.counts.exclusions) +
      CountRows("rejected", v.counts.rejects) + CountRows("scan", v.counts.scans);
  std::string out = "<section><h2>Scans, gaps and refusals</h2>";
  if (rows.empty())
    return out +
           "<p class=\"empty\">No scan has ended yet, nothing was left out or "
           "refused.</p></section>";
  return Cat(out,
             "<table class=\"narrow\"><thead><tr><th>What</th><th>Why</th>"
             "<th class=\"n\">Count</th></tr></thead><tbody>",
             rows, "</tbody></table></section>");
}

std::string Recent(const StatusView& v) {
  std::string out = "<section><h2>Recent warnings and faults</h2>";
  if (v.recent.empty()) return out + "<p class=\"empty\">None since the start.</p></section>";
  out += "<ol class=\"lines\">";
  for (const RecentLines::Entry& line : v.recent) {
    const bool error = line.level == config::LogLevel::kError;
    out += Cat("<li><time>", TimeText(line.when), "</time> ",
               Badge(error ? "bad" : "warn", line.event), " ", Escaped(line.message), "</li>");
  }
  return out + "</ol></section>";
}

}  // namespace

std::string StatusMain(const StatusView& view) {
  return Cat(Summary(view), Charts(view), Lanes(view), Accelerators(view), "<div class=\"pair\">",
             Coverage(view), Recent(view), "</div><p class=\"note\">As of ", TimeText(view.now),
             ".</p>");
}

std::string StatusPage(const StatusView& view) {
  std::string page = kShell;
  const std::string_view place = "<!--main-->";
  const size_t at = page.find(place);
  return at == page.npos ? page : page.replace(at, place.size(), StatusMain(view));
}

std::string_view StatusStyle() { return kStyle; }
std::string_view StatusScript() { return kScript; }

}  // namespace keysieve::admin
