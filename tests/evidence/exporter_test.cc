// SPDX-License-Identifier: MIT
// The rendered text: what Prometheus' own tool says of it, and that bad input costs only itself.
#include "evidence/exporter.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <string>

#include "evidence/recorder.h"
#include "evidence/recorder_source.h"
#include "evidence/standard_sources.h"
#include "tests/evidence/promtool.h"

namespace keysieve::evidence {
namespace {

class Fixed final : public MetricSource {
 public:
  explicit Fixed(std::vector<MetricFamily> families) : families_(std::move(families)) {}
  void Collect(std::vector<MetricFamily>& families) const override {
    families.insert(families.end(), families_.begin(), families_.end());
  }

 private:
  std::vector<MetricFamily> families_;
};

std::string Render(std::vector<MetricFamily> families) {
  const Fixed source(std::move(families));
  Exporter exporter;
  exporter.AddSource(&source);
  return exporter.Render();
}

MetricFamily Gauge(std::string name, std::vector<MetricSample> samples) {
  return {std::move(name), "Help.", MetricType::kGauge, std::move(samples)};
}

bool Has(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

std::string Rejected(const std::string& reason, int n) {
  return "keysieve_metrics_rejected_total{reason=\"" + reason + "\"} " + std::to_string(n);
}

void Use(DeviceLedger& ledger) {
  DispatchRecord record;
  record.launched = true;
  record.submit_to_complete_ns = 5'000'000;
  record.kernel_ns = 2'000'000;
  record.uploads.bytes[Index(Traffic::kText)] = 1 << 20;
  ledger.Submitted();
  ledger.Completed(record);
  ledger.Observed(0.5, 1.0);
}

// Everything there is, on two devices of two backends.
std::string RenderAll() {
  Recorder recorder({});
  Use(**recorder.RegisterDevice(
      Accelerator::kCuda, 0, {.name = "NVIDIA \"H200\"", .driver = "580\\13", .uuid = "0a"}, {}));
  Use(**recorder.RegisterDevice(Accelerator::kVulkan, 1, {.name = "caf\xe9\nau lait"},
                                {true, true, true, true}));
  const RecorderSource devices(recorder);
  const ProcessSource process;
  const BuildInfoSource build({.version = "0.1.0", .revision = "abc", .compiler = "g++"});
  Exporter exporter;
  exporter.AddSource(&devices);
  exporter.AddSource(&process);
  exporter.AddSource(&build);
  return exporter.Render();
}

TEST(Exporter, PromtoolHasNothingToSayOfTheWholeText) {
  if (!HavePromtool()) GTEST_SKIP() << kNoPromtool;
  const auto [ok, output] = RunPromtool("check metrics", RenderAll());
  EXPECT_TRUE(ok) << output;
  EXPECT_EQ(output, "");
}

TEST(Exporter, PromtoolWouldHaveSaidSomething) {
  if (!HavePromtool()) GTEST_SKIP() << kNoPromtool;
  EXPECT_FALSE(RunPromtool("check metrics", "# TYPE things counter\nthings 1\n").ok);
}

TEST(Exporter, WritesLabelsInTheirOrderAndEscaped) {
  const std::string text = RenderAll();
  EXPECT_TRUE(Has(text,
                  "keysieve_gpu_device_info{backend=\"cuda\",device=\"0\",name=\"NVIDIA "
                  "\\\"H200\\\"\",driver=\"580\\\\13\",driver_info=\"\",uuid=\"0a\","
                  "pci_address=\"\",software=\"false\"} 1"))
      << text;
  EXPECT_NE(text.find("name=\"caf\xef\xbf\xbd\\nau lait\""), std::string::npos);
  EXPECT_TRUE(Has(text,
                  "keysieve_gpu_upload_bytes_total{backend=\"cuda\",device=\"0\",kind=\"text\"} "
                  "1048576"));
  EXPECT_TRUE(Has(text, "keysieve_gpu_kernel_seconds_total{backend=\"cuda\",device=\"0\"} 0.002"));
  EXPECT_TRUE(Has(text, "# TYPE keysieve_gpu_kernel_duration_seconds histogram"));
  EXPECT_TRUE(
      Has(text,
          "keysieve_gpu_kernel_duration_seconds_bucket{backend=\"cuda\",device=\"0\",le=\"+Inf\"} "
          "1"));
  EXPECT_TRUE(
      Has(text, "keysieve_build_info{version=\"0.1.0\",revision=\"abc\",compiler=\"g++\"} 1"));
}

TEST(Exporter, WithoutADeviceAtWorkThereIsNoAcceleratorFamily) {
  Recorder recorder({});
  ASSERT_TRUE(recorder.RegisterDevice(Accelerator::kCuda, 0, {.name = "idle"}, {}).ok());
  const RecorderSource devices(recorder);
  Exporter exporter;
  exporter.AddSource(&devices);
  EXPECT_EQ(exporter.Render().find("keysieve_gpu_"), std::string::npos);
}

TEST(Exporter, AValueThatIsNoNumberIsLeftOutAndCounted) {
  const std::string text = Render({Gauge("a", {{.value = std::nan("")}}),
                                   Gauge("b", {{.value = INFINITY}}), Gauge("c", {{.value = 3}})});
  EXPECT_EQ(text.find("Nan"), std::string::npos);
  EXPECT_EQ(text.find("\na "), std::string::npos);
  EXPECT_TRUE(Has(text, "b +Inf"));
  EXPECT_TRUE(Has(text, "c 3"));
  EXPECT_TRUE(Has(text, Rejected("value", 1)));
}

TEST(Exporter, BadNamesAndLabelsCostOnlyThemselves) {
  const std::string text = Render({Gauge("9lives", {{.value = 1}}), Gauge("", {{.value = 1}}),
                                   Gauge("bad name", {{.value = 1}}),
                                   Gauge("good", {{.labels = {{"a-b", "x"}}, .value = 1},
                                                  {.labels = {{"__name", "x"}}, .value = 2},
                                                  {.labels = {{"le", "x"}}, .value = 3},
                                                  {.labels = {{"a", "x"}, {"a", "y"}}, .value = 4},
                                                  {.labels = {{"a", "x"}}, .value = 5}})});
  EXPECT_TRUE(Has(text, "good{a=\"x\"} 5"));
  EXPECT_TRUE(Has(text, Rejected("name", 7)));
  EXPECT_EQ(text.find("lives"), std::string::npos);
}

TEST(Exporter, TwoSourcesMayShareAFamilyButNotASeriesOrAType) {
  const Fixed first({Gauge("shared", {{.labels = {{"a", "1"}, {"b", "2"}}, .value = 1}})});
  const Fixed second({Gauge("shared", {{.labels = {{"b", "2"}, {"a", "1"}}, .value = 2},
                                       {.labels = {{"a", "2"}}, .value = 3}})});
  const Fixed third({{"shared", "Help.", MetricType::kCounter, {{.value = 4}}}});
  Exporter exporter;
  for (const Fixed* source : {&first, &second, &third}) exporter.AddSource(source);
  const std::string text = exporter.Render();
  EXPECT_TRUE(Has(text, "shared{a=\"1\",b=\"2\"} 1"));
  EXPECT_TRUE(Has(text, "shared{a=\"2\"} 3"));
  EXPECT_EQ(text.find("# TYPE shared"), text.rfind("# TYPE shared"));
  EXPECT_TRUE(Has(text, Rejected("duplicate", 1)));
  EXPECT_TRUE(Has(text, Rejected("type", 1)));
}

TEST(Exporter, AHistogramThatCannotBeIsLeftOut) {
  const auto histogram = [](std::string name, HistogramValue value) {
    return MetricFamily{std::move(name), "Help.", MetricType::kHistogram, {{.histogram = value}}};
  };
  const std::string text = Render({histogram("falling", {{{1, 5}, {2, 4}}, 5, 1}),
                                   histogram("unsorted", {{{2, 1}, {1, 2}}, 2, 1}),
                                   histogram("short_count", {{{1, 5}}, 4, 1}),
                                   histogram("fine", {{{0.5, 1}, {1, 2}}, 3, 7})});
  EXPECT_TRUE(Has(text, Rejected("value", 3)));
  EXPECT_TRUE(Has(text, "fine_bucket{le=\"0.5\"} 1"));
  EXPECT_TRUE(Has(text, "fine_bucket{le=\"+Inf\"} 3"));
  EXPECT_TRUE(Has(text, "fine_sum 7"));
  EXPECT_TRUE(Has(text, "fine_count 3"));
}

TEST(Exporter, HelpTextsStayOnTheirLine) {
  MetricFamily family = Gauge("a", {{.value = 1}});
  family.help = "one\\two\nthree";
  EXPECT_TRUE(Has(Render({family}), "# HELP a one\\\\two\\nthree"));
}

TEST(Exporter, LargeCountsKeepTheirDigits) {
  const std::string text =
      Render({Gauge("a", {{.value = 9007199254740991.0}}), Gauge("b", {{.value = 0.1}})});
  EXPECT_NE(text.find("\na 9007199254740991\n"), std::string::npos) << text;
  const std::size_t b = text.find("\nb ");
  ASSERT_NE(b, std::string::npos);
  EXPECT_EQ(std::strtod(text.c_str() + b + 3, nullptr), 0.1) << text;
}

TEST(Exporter, TheRejectionCounterIsItsOwn) {
  const std::string text =
      Render({{"keysieve_metrics_rejected_total", "Mine.", MetricType::kCounter, {{.value = 99}}}});
  EXPECT_EQ(text.find("99"), std::string::npos);
  EXPECT_TRUE(Has(text, Rejected("duplicate", 1)));
}

TEST(ServiceFamily, AnUnknownNameIsRefusedNotInvented) {
  EXPECT_EQ(ServiceFamily("keysieve_scans_total").type, MetricType::kCounter);
  MetricFamily unknown = ServiceFamily("keysieve_typo_total");
  unknown.samples.push_back({.value = 1});
  EXPECT_TRUE(Has(Render({unknown}), Rejected("name", 1)));
}

}  // namespace
}  // namespace keysieve::evidence
