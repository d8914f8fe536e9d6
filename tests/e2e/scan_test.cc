// SPDX-License-Identifier: MIT
// Scans through the real program with its own rules, on the CPU and on Vulkan.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/e2e/daemon_process.h"

namespace keysieve::e2e {
namespace {

std::vector<File> Tree() {
  std::vector<File> files;
  for (unsigned i = 0; i < 12; ++i) {
    std::string text = Filler(1000 * i * i, i);
    if (i % 3 == 0) text += "\ntoken = \"" + FakeGithubToken(i) + "\"\n";
    text += Filler(500, i + 100);
    files.push_back({"src/file" + std::to_string(i), std::move(text)});
  }
  files.push_back({"empty", ""});
  // Larger than a batch, with tokens at its very beginning, round 8 MiB and at its end.
  std::string large = FakeGithubToken(50) + "\n" + Filler((8 << 20) - 70, 7) + "\n" +
                      FakeGithubToken(51) + "\n" + Filler(3 << 20, 8) + "\n" + FakeGithubToken(52);
  files.push_back({"large", std::move(large)});
  return files;
}

uint64_t Bytes(const std::vector<File>& files) {
  uint64_t bytes = 0;
  for (const File& file : files) bytes += file.bytes.size();
  return bytes;
}

void ExpectTheTokens(const ScanOutcome& outcome) {
  ASSERT_TRUE(outcome.status.ok()) << outcome.status.error_message();
  for (unsigned i = 0; i < 12; ++i) {
    const auto& findings = outcome.findings.at("src/file" + std::to_string(i));
    ASSERT_EQ(findings.size(), i % 3 == 0 ? 1u : 0u) << i;
    for (const v1::Finding& finding : findings) EXPECT_EQ(finding.rule_id(), "github-pat");
  }
  EXPECT_EQ(outcome.findings.at("large").size(), 3u);
  EXPECT_EQ(outcome.findings.at("empty").size(), 0u);
}

TEST(EndToEnd, ScansOnTheCpuFindTheTokensAndRedactThem) {
  Keysieved daemon({"--backend", "cpu"});
  ASSERT_TRUE(daemon.serving()) << daemon.Log();
  const std::vector<File> tree = Tree();
  for (const std::string& address : {daemon.socket(), daemon.tcp()}) {
    const ScanOutcome outcome = Scan(address, tree);
    ExpectTheTokens(outcome);
    EXPECT_TRUE(outcome.summary->complete());
    EXPECT_EQ(outcome.summary->bytes(), Bytes(tree));
    EXPECT_EQ(outcome.summary->scanned_bytes(), Bytes(tree));
    for (const auto& [path, receipt] : outcome.receipts) {
      EXPECT_EQ(receipt.route(), v1::ROUTE_CPU);
      EXPECT_FALSE(receipt.recovered());
    }
    EXPECT_EQ(outcome.findings.at("large")[0].secret(), "REDACTED");
  }
  const std::string secret = FakeGithubToken(51);
  EXPECT_EQ(Scan(daemon.socket(), tree, true).findings.at("large")[1].secret(), secret);
  const ScanOutcome refused = Scan(daemon.tcp(), tree, true);
  EXPECT_EQ(refused.status.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  // No secret anywhere in what operators see.
  EXPECT_EQ(daemon.Log().find(secret), std::string::npos);
  EXPECT_EQ(HttpGet(daemon.admin(), "/metrics").find(secret), std::string::npos);
}

TEST(EndToEnd, AcceleratorMetricsAreAbsentAfterScansOnTheCpu) {
  Keysieved daemon({"--backend", "cpu"});
  ASSERT_TRUE(daemon.serving()) << daemon.Log();
  ExpectTheTokens(Scan(daemon.tcp(), Tree()));
  const std::string metrics = HttpGet(daemon.admin(), "/metrics");
  EXPECT_NE(metrics.find("keysieve_blobs_total 14"), std::string::npos);
  EXPECT_EQ(metrics.find("keysieve_gpu_"), std::string::npos);
}

TEST(EndToEnd, VulkanFindsTheSameAndItsMetricsAddUp) {
  Keysieved daemon({"--backend", "vulkan"});
  if (!daemon.serving()) {
    GTEST_SKIP() << "no Vulkan device here: " << daemon.Log();
  }
  const std::vector<File> tree = Tree();
  const ScanOutcome outcome = Scan(daemon.tcp(), tree);
  ExpectTheTokens(outcome);
  for (const File& file : tree) {
    if (file.bytes.empty()) continue;
    EXPECT_EQ(outcome.receipts.at(file.path).route(), v1::ROUTE_VULKAN) << file.path;
  }
  // Every byte once, and for each cut of the large blob a margin beside it.
  const std::string of = "{backend=\"vulkan\",device=\"0\"";
  const auto uploaded = daemon.Metric("keysieve_gpu_upload_bytes_total" + of + ",kind=\"text\"}");
  ASSERT_TRUE(uploaded.has_value());
  EXPECT_GE(*uploaded, static_cast<double>(Bytes(tree)));
  EXPECT_LE(*uploaded, static_cast<double>(Bytes(tree) + 200 * 255));
  EXPECT_GT(daemon.Metric("keysieve_gpu_dispatches_total" + of + "}").value_or(0), 0);
  EXPECT_EQ(daemon.Metric("keysieve_gpu_faults_total" + of + ",kind=\"dispatch\"}"), 0.0);
  EXPECT_EQ(daemon.Metric("keysieve_gpu_events_total" + of + ",event=\"adapter_acquired\"}"), 1.0);
  EXPECT_EQ(daemon.Metric("keysieve_route_bytes_total{route=\"vulkan\"}"),
            static_cast<double>(Bytes(tree)));
}

TEST(EndToEnd, UploadedTextIsExactlyTheBytesSentWhenNothingIsCut) {
  Keysieved daemon({"--backend", "vulkan"});
  if (!daemon.serving()) {
    GTEST_SKIP() << "no Vulkan device here: " << daemon.Log();
  }
  const std::vector<File> files = {{"a", Filler(100'000, 1)}, {"b", Filler(7, 2)}};
  ASSERT_TRUE(Scan(daemon.tcp(), files).status.ok());
  EXPECT_EQ(daemon.Metric("keysieve_gpu_upload_bytes_total{backend=\"vulkan\",device=\"0\",kind="
                          "\"text\"}"),
            100'007.0);
}

TEST(EndToEnd, MatchGivesEveryOverlappingHit) {
  Keysieved daemon({"--backend", "cpu"});
  ASSERT_TRUE(daemon.serving()) << daemon.Log();
  const auto stub = v1::ScanService::NewStub(Dial(daemon.tcp()));
  grpc::ClientContext context;
  const auto call = stub->Match(&context);
  v1::MatchRequest request;
  request.mutable_options()->add_patterns()->set_literal("aaa");
  ASSERT_TRUE(call->Write(request));
  request.Clear();
  v1::Chunk* chunk = request.mutable_chunks()->add_chunks();
  chunk->set_data("xaaaaax");
  chunk->set_last(true);
  ASSERT_TRUE(call->Write(request));
  call->WritesDone();
  v1::MatchReply reply;
  std::vector<uint64_t> starts;
  while (call->Read(&reply)) {
    for (const auto& match : reply.blob().matches()) starts.push_back(match.start());
  }
  EXPECT_TRUE(call->Finish().ok());
  EXPECT_THAT(starts, ::testing::ElementsAre(1, 2, 3));
}

}  // namespace
}  // namespace keysieve::e2e
