// SPDX-License-Identifier: MIT
#include "daemon/admin/service_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "evidence/exporter.h"
#include "tests/daemon/pipeline/fake_transport.h"

namespace keysieve::admin {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(ServiceSource, ShowsWhatWasCountedUnderItsPublishedNames) {
  pipeline::Bench b;
  auto script = std::make_shared<scheduler::FakeScript>();
  std::vector<std::unique_ptr<scheduler::Lane>> lanes;
  scheduler::LaneOptions options;
  options.identity.backend = backends::BackendKind::kVulkan;
  options.identity.index = 1;
  lanes.push_back(
      std::make_unique<scheduler::Lane>(options, scheduler::FakeOpener(script, {}), nullptr));
  ASSERT_TRUE(lanes[0]->Start().ok());
  const scheduler::Scheduler scheduler(std::move(lanes), nullptr);
  transport::RpcCounters rpcs;
  rpcs.Started({"S", "M"});
  rpcs.Handled({"S", "M"}, "OK", 0.02);
  b.counters.Found("key");
  b.counters.Gap("blob_limit");
  b.counters.Rejected("streams");
  b.counters.Scan("complete");
  b.counters.Scanned("cpu", 77);
  b.counters.Blob(std::chrono::milliseconds(3));
  const ServiceSource source(*b.pipeline, b.counters, scheduler, rpcs);
  evidence::Exporter exporter;
  exporter.AddSource(&source);
  const std::string text = exporter.Render();
  for (const char* line :
       {R"(keysieve_lane_state{backend="vulkan",device="1",state="open"} 1)",
        R"(keysieve_lane_state{backend="vulkan",device="1",state="quarantined"} 0)",
        R"(keysieve_findings_total{rule="key"} 1)", R"(keysieve_gaps_total{reason="blob_limit"} 1)",
        R"(keysieve_admission_rejects_total{reason="streams"} 1)",
        R"(keysieve_scans_total{result="complete"} 1)",
        R"(keysieve_route_bytes_total{route="cpu"} 77)", "keysieve_blobs_total 1",
        "keysieve_inflight_bytes 0", R"(keysieve_rules_info{name="one",digest="d1"} 1)",
        R"(grpc_server_started_total{grpc_service="S",grpc_method="M"} 1)",
        R"(grpc_server_handled_total{grpc_service="S",grpc_method="M",grpc_code="OK"} 1)",
        R"(grpc_server_handling_seconds_bucket{grpc_service="S",grpc_method="M",le="0.01"} 0)",
        R"(grpc_server_handling_seconds_bucket{grpc_service="S",grpc_method="M",le="0.05"} 1)",
        R"(keysieve_metrics_rejected_total{reason="name"} 0)",
        R"(keysieve_metrics_rejected_total{reason="duplicate"} 0)"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
  EXPECT_THAT(text, Not(HasSubstr("keysieve_gpu_")));
}

}  // namespace
}  // namespace keysieve::admin
