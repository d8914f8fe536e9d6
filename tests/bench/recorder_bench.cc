// SPDX-License-Identifier: MIT
// What recording costs: the whole of one dispatch's evidence, with and without profiled scans, the
// single calls, and a scrape. No corpus, no device: the recorder alone. Its peer, prometheus-cpp's
// own counter and histogram, runs beside it.
//
//   build/release/bin/recorder_bench --benchmark_format=json
#include <benchmark/benchmark.h>
#include <prometheus/counter.h>
#include <prometheus/histogram.h>

#include <string>
#include <vector>

#include "evidence/exporter.h"
#include "evidence/recorder.h"
#include "evidence/recorder_source.h"

namespace keysieve::evidence {
namespace {

DispatchRecord Dispatch() {
  DispatchRecord record;
  record.launched = true;
  record.uploads = {{1 << 20, 4096, 0, 0}};
  record.readbacks = {{0, 512, 0, 8192}};
  record.upload_ns = 20'000;
  record.kernel_ns = 40'000;
  record.readback_ns = 5'000;
  record.submit_to_complete_ns = 80'000;
  record.overlap_ns = 10'000;
  return record;
}

DeviceLedger* Register(Recorder& recorder, int index = 0) {
  return *recorder.RegisterDevice(Accelerator::kCuda, index, {.name = "bench"}, {});
}

// The argument is the number of profiled scans the dispatch counts for besides the process.
void BM_Dispatch(benchmark::State& state) {
  Recorder recorder({});
  DeviceLedger* ledger = Register(recorder);
  std::vector<ContextId> scans;
  for (int64_t i = 0; i < state.range(0); ++i) scans.push_back(*recorder.OpenContext());
  ledger->Bind(scans);
  const DispatchRecord record = Dispatch();
  for (auto _ : state) {
    ledger->Submitted();
    ledger->Completed(record);
  }
}
BENCHMARK(BM_Dispatch)->Arg(0)->Arg(1)->Arg(16);

void BM_AllocateAndFree(benchmark::State& state) {
  Recorder recorder({});
  DeviceLedger* ledger = Register(recorder);
  for (auto _ : state) {
    ledger->Allocated(4096);
    ledger->Freed(4096);
  }
}
BENCHMARK(BM_AllocateAndFree);

void BM_Busy(benchmark::State& state) {
  Recorder recorder({});
  DeviceLedger* ledger = Register(recorder);
  for (auto _ : state) ledger->Busy(100);
}
BENCHMARK(BM_Busy);

void BM_OpenAndCloseContext(benchmark::State& state) {
  Recorder recorder({});
  for (auto _ : state) benchmark::DoNotOptimize(recorder.CloseContext(*recorder.OpenContext()));
}
BENCHMARK(BM_OpenAndCloseContext);

// The argument is the number of devices.
void BM_Scrape(benchmark::State& state) {
  Recorder recorder({});
  for (int i = 0; i < static_cast<int>(state.range(0)); ++i) {
    DeviceLedger* ledger = Register(recorder, i);
    ledger->Submitted();
    ledger->Completed(Dispatch());
  }
  const RecorderSource source(recorder);
  Exporter exporter;
  exporter.AddSource(&source);
  std::size_t bytes = 0;
  for (auto _ : state) bytes = exporter.Render().size();
  state.counters["text_bytes"] = static_cast<double>(bytes);
}
BENCHMARK(BM_Scrape)->Arg(1)->Arg(8);

// A service's families with the argument's number of tenants, beside 8 devices.
class ManyTenants : public MetricSource {
 public:
  explicit ManyTenants(int tenants) : tenants_(tenants) {}
  void Collect(std::vector<MetricFamily>& families) const override {
    MetricFamily bytes = ServiceFamily("keysieve_tenant_bytes_total");
    MetricFamily seconds = ServiceFamily("keysieve_tenant_device_seconds_total");
    for (int i = 0; i < tenants_; ++i) {
      const std::string name = "tenant-" + std::to_string(i);
      bytes.samples.push_back({.labels = {{"tenant", name}}, .value = 1e9 + i});
      seconds.samples.push_back(
          {.labels = {{"tenant", name}, {"backend", "cuda"}}, .value = 0.5 + i});
    }
    families.push_back(std::move(bytes));
    families.push_back(std::move(seconds));
  }

 private:
  const int tenants_;
};

void BM_ScrapeWithTenants(benchmark::State& state) {
  Recorder recorder({});
  for (int i = 0; i < 8; ++i) {
    DeviceLedger* ledger = Register(recorder, i);
    ledger->Submitted();
    ledger->Completed(Dispatch());
  }
  const RecorderSource source(recorder);
  const ManyTenants tenants(static_cast<int>(state.range(0)));
  Exporter exporter;
  exporter.AddSource(&source);
  exporter.AddSource(&tenants);
  std::size_t bytes = 0;
  for (auto _ : state) bytes = exporter.Render().size();
  state.counters["text_bytes"] = static_cast<double>(bytes);
}
BENCHMARK(BM_ScrapeWithTenants)->Arg(1000)->Unit(benchmark::kMillisecond);

void BM_PrometheusCounter(benchmark::State& state) {
  prometheus::Counter counter;
  for (auto _ : state) counter.Increment(100);
}
BENCHMARK(BM_PrometheusCounter);

void BM_PrometheusHistogram(benchmark::State& state) {
  prometheus::Histogram histogram({1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1, 10});
  for (auto _ : state) histogram.Observe(0.0004);
}
BENCHMARK(BM_PrometheusHistogram);

}  // namespace
}  // namespace keysieve::evidence

BENCHMARK_MAIN();
