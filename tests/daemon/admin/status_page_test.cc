// SPDX-License-Identifier: MIT
// The page says what it was handed, whole without a script, and lets no name become markup.
#include "daemon/admin/status_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/admin/html.h"

namespace keysieve::admin {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

StatusView SomeView() {
  StatusView view;
  view.version = "1.2.3";
  view.uptime_seconds = 3700;
  view.ready = true;
  view.stream_limit = 1024;
  view.memory_limit = 512'000'000;
  view.ring_slots = 256;
  scheduler::LaneStatus lane;
  lane.identity.backend = backends::BackendKind::kVulkan;
  lane.identity.index = 1;
  lane.identity.name = "<b>card & co</b>";
  lane.state = scheduler::LaneState::kQuarantined;
  lane.reason = "it hung";
  lane.slots_used = 64;
  view.lanes.push_back(lane);
  evidence::DeviceSnapshot device;
  device.accelerator = evidence::Accelerator::kVulkan;
  device.index = 1;
  device.capabilities = {.kernel_timestamps = true, .occupancy = true};
  device.occupancy_ratio = 0.75;
  device.counters.cells[evidence::CellOf(evidence::Counter::kDispatchCalls)] = 12345;
  view.devices.push_back(device);
  view.counts.gaps["blob_limit"] = 3;
  view.recent.push_back({{}, config::LogLevel::kError, "lane", "device <lost>"});
  return view;
}

TEST(StatusPage, ShowsDevicesGapsAndFaultsWithoutAScript) {
  const std::string page = StatusPage(SomeView());
  for (const char* text :
       {"<!doctype html>", "keysieved 1.2.3", "1 h 1 min", "<b>vulkan:1</b>", "quarantined",
        "it hung", "64 of 256", "12,345", "75%", "utilization, stall_counters", "blob_limit",
        "device &lt;lost&gt;", "<svg class=\"chart\"", "href=\"/style.css\"", "<noscript>"}) {
    EXPECT_THAT(page, HasSubstr(text));
  }
}

TEST(StatusPage, NamesStayText) {
  const std::string page = StatusPage(SomeView());
  EXPECT_THAT(page, HasSubstr("&lt;b&gt;card &amp; co&lt;/b&gt;"));
  EXPECT_THAT(page, Not(HasSubstr("<b>card")));
}

TEST(StatusPage, LoadsNothingFromElsewhereAndNeedsNoInlineScriptOrStyle) {
  const std::string page = StatusPage(SomeView());
  EXPECT_THAT(page, Not(HasSubstr("http://")));
  EXPECT_THAT(page, Not(HasSubstr("https://")));
  EXPECT_THAT(page, Not(HasSubstr(" style=")));
  EXPECT_THAT(page, Not(HasSubstr("<script>")));
  EXPECT_THAT(std::string(StatusStyle()), Not(HasSubstr("url(")));
  EXPECT_THAT(std::string(StatusStyle()), HasSubstr("prefers-color-scheme: dark"));
}

TEST(StatusPage, ACpuOnlyDaemonSaysThatNoAcceleratorWorked) {
  StatusView view = SomeView();
  view.devices.clear();
  EXPECT_THAT(StatusMain(view), HasSubstr("No accelerator has done any work"));
}

TEST(Html, NumbersReadWell) {
  EXPECT_EQ(BytesText(0), "0 B");
  EXPECT_EQ(BytesText(999), "999 B");
  EXPECT_EQ(BytesText(1500), "1.50 kB");
  EXPECT_EQ(BytesText(999'999'999), "1.00 GB");
  EXPECT_EQ(DurationText(0.00025), "250 us");
  EXPECT_EQ(DurationText(0.0123), "12.3 ms");
  EXPECT_EQ(DurationText(59.9), "59.9 s");
  EXPECT_EQ(DurationText(3661), "1 h 1 min");
  EXPECT_EQ(DurationText(90'000), "1 d 1 h");
  EXPECT_EQ(CountText(1234567), "1,234,567");
  EXPECT_EQ(CountText(2.5), "2.5");
  EXPECT_EQ(CountText(12.4), "12");
}

TEST(Html, BytesThatAreNoTextBecomeReplacementCharacters) {
  EXPECT_EQ(Escaped("a\xff\"'"), "a\xEF\xBF\xBD&quot;&#39;");
}

TEST(Html, AChartBreaksWhereAValueIsAbsent) {
  const std::string svg = LineChart({{"line-a", {1.0, std::nullopt, 2.0}}}, 3, "t");
  const size_t first = svg.find("d=\"M");
  ASSERT_NE(first, svg.npos);
  EXPECT_NE(svg.find('M', first + 4), svg.npos) << "a second run begins with its own move";
  EXPECT_THAT(LineChart({{"line-a", {}}}, 3, "t"), Not(HasSubstr("<path")));
}

}  // namespace
}  // namespace keysieve::admin
