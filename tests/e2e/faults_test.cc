// SPDX-License-Identifier: MIT
// Devices that fail under a running keysieved, seen from outside: findings, receipts, health,
// metrics, and the way back. The program is keysieved with a backend that the text it scans can
// break.
#include <gmock/gmock.h>
#include <grpcpp/impl/codegen/client_unary_call.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <thread>

#include "tests/e2e/daemon_process.h"

namespace keysieve::e2e {
namespace {

using ::testing::HasSubstr;

// The marker is put together here so that no file of ours breaks the device by being scanned.
std::string Breaks(const std::string& how) { return std::string("keysieve-") + "fault:" + how; }

File Token(const std::string& path, unsigned seed, const std::string& more = "") {
  return {path, "token = \"" + FakeGithubToken(seed) + "\"\n" + more + "\n"};
}

std::vector<std::string> Arguments(const Folder& folder, const std::string& recovery) {
  return {"--backend", "vulkan", "--config",
          folder.Write("k.toml", "[recovery]\nwatchdog_s = 1\n" + recovery)};
}

v1::Status StatusOf(const Keysieved& daemon) {
  grpc::ClientContext context;
  v1::Status status;
  EXPECT_TRUE(
      v1::AdminService::NewStub(Dial(daemon.socket()))->GetStatus(&context, {}, &status).ok());
  return status;
}

// "\x08\x01" is SERVING, "\x08\x02" is not.
std::string Health(const Keysieved& daemon, const std::string& service) {
  const auto channel = Dial(daemon.tcp());
  const grpc::internal::RpcMethod check("/grpc.health.v1.Health/Check",
                                        grpc::internal::RpcMethod::NORMAL_RPC, channel);
  std::string bytes = "\x0a";
  bytes.push_back(static_cast<char>(service.size()));
  bytes += service;
  const grpc::Slice slice(bytes);
  grpc::ClientContext context;
  grpc::ByteBuffer request(&slice, 1), reply;
  EXPECT_TRUE((grpc::internal::BlockingUnaryCall<grpc::ByteBuffer, grpc::ByteBuffer>(
                   channel.get(), check, &context, request, &reply))
                  .ok());
  grpc::Slice answer;
  EXPECT_TRUE(reply.DumpToSingleSlice(&answer).ok());
  return {reinterpret_cast<const char*>(answer.begin()), answer.size()};
}

double Faults(const Keysieved& daemon, const std::string& kind) {
  return daemon
      .Metric("keysieve_gpu_faults_total{backend=\"vulkan\",device=\"0\",kind=\"" + kind + "\"}")
      .value_or(-1);
}

void ExpectQuarantined(const Keysieved& daemon) {
  const v1::Status status = StatusOf(daemon);
  EXPECT_EQ(status.devices(0).state(), v1::DeviceStatus::QUARANTINED);
  EXPECT_TRUE(status.devices(0).abandoned());
  EXPECT_TRUE(status.ready());
  EXPECT_EQ(daemon.Metric("keysieve_lane_state{backend=\"vulkan\",device=\"0\",state="
                          "\"quarantined\"}"),
            1.0);
  while (Health(daemon, "keysieve.accelerator") != "\x08\x02") {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_EQ(Health(daemon, "keysieve.v1.ScanService"), "\x08\x01");
}

// One stream breaks the device while another goes on; both get every finding.
void BreakBesideAnother(const Keysieved& daemon, const std::string& how) {
  std::vector<File> others;
  for (unsigned i = 0; i < 40; ++i) {
    others.push_back(Token("other" + std::to_string(i), i, Filler(200'000, i)));
  }
  ScanOutcome beside;
  std::thread other([&] { beside = Scan(daemon.tcp(), others); });
  const ScanOutcome broken =
      Scan(daemon.tcp(), {Token("a", 1), Token("b", 2, Breaks(how)), Token("c", 3)});
  other.join();
  ASSERT_TRUE(broken.status.ok()) << broken.status.error_message();
  ASSERT_TRUE(beside.status.ok()) << beside.status.error_message();
  EXPECT_TRUE(broken.summary->complete());
  for (const char* path : {"a", "b", "c"}) EXPECT_EQ(broken.findings.at(path).size(), 1u) << path;
  for (const File& file : others) EXPECT_EQ(beside.findings.at(file.path).size(), 1u) << file.path;
  const v1::Receipt& receipt = broken.receipts.at("b");
  EXPECT_EQ(receipt.route(), v1::ROUTE_CPU);
  EXPECT_TRUE(receipt.recovered());
  EXPECT_THAT(receipt.route_reason(), HasSubstr("vulkan:0"));
}

void ExpectCleanEnd(Keysieved& daemon) {
  daemon.Signal(SIGTERM);
  EXPECT_EQ(daemon.Wait(), 0) << daemon.Log();
  EXPECT_EQ(daemon.Log().find("after Abandon()"), std::string::npos) << daemon.Log();
}

TEST(Faults, ALostDeviceCostsNoFinding) {
  const Folder folder;
  Keysieved daemon(Arguments(folder, ""), KEYSIEVED_FAULTY);
  ASSERT_TRUE(daemon.serving()) << daemon.Log();
  BreakBesideAnother(daemon, "lose");
  ExpectQuarantined(daemon);
  EXPECT_EQ(Faults(daemon, "device_lost"), 1.0);
  EXPECT_EQ(daemon.Metric("keysieve_gpu_events_total{backend=\"vulkan\",device=\"0\",event="
                          "\"device_quarantined\"}"),
            1.0);
  ExpectCleanEnd(daemon);
}

TEST(Faults, AHungDeviceCostsNoFinding) {
  const Folder folder;
  Keysieved daemon(Arguments(folder, ""), KEYSIEVED_FAULTY);
  ASSERT_TRUE(daemon.serving()) << daemon.Log();
  BreakBesideAnother(daemon, "hang");
  ExpectQuarantined(daemon);
  EXPECT_EQ(Faults(daemon, "timeout"), 1.0);
  ExpectCleanEnd(daemon);
}

TEST(Faults, ACallThatNeverReturnsCostsNoFinding) {
  const Folder folder;
  Keysieved daemon(Arguments(folder, ""), KEYSIEVED_FAULTY);
  ASSERT_TRUE(daemon.serving()) << daemon.Log();
  BreakBesideAnother(daemon, "block");
  ExpectQuarantined(daemon);
  ExpectCleanEnd(daemon);
}

TEST(Faults, ADispatchThatFailsIsRetriedThenRecovered) {
  const Folder folder;
  Keysieved daemon(Arguments(folder, ""), KEYSIEVED_FAULTY);
  ASSERT_TRUE(daemon.serving()) << daemon.Log();
  BreakBesideAnother(daemon, "dispatch");
  EXPECT_EQ(StatusOf(daemon).devices(0).state(), v1::DeviceStatus::OPEN);
  EXPECT_EQ(Faults(daemon, "dispatch"), 2.0);
  const std::string of = "{backend=\"vulkan\",device=\"0\"}";
  EXPECT_EQ(daemon.Metric("keysieve_gpu_retries_total" + of), 1.0);
  EXPECT_EQ(daemon.Metric("keysieve_gpu_recoveries_total" + of), 1.0);
  const ScanOutcome after = Scan(daemon.tcp(), {Token("d", 4)});
  EXPECT_EQ(after.receipts.at("d").route(), v1::ROUTE_VULKAN);
  ExpectCleanEnd(daemon);
}

// Waits for the second start line of the same process.
void AwaitRestart(const Keysieved& daemon) {
  const auto starts = [&] {
    const std::string log = daemon.Log();
    size_t count = 0;
    for (size_t at = 0; (at = log.find("\"event\":\"start\"", at)) != std::string::npos; ++at) {
      ++count;
    }
    return count;
  };
  while (starts() < 2) std::this_thread::sleep_for(std::chrono::milliseconds(50));
}

TEST(Faults, AfterALossTheProgramRunsAnewInItsPlaceWithItsSockets) {
  const Folder folder;
  Keysieved daemon(Arguments(folder, "restart = \"exec\"\n"), KEYSIEVED_FAULTY);
  ASSERT_TRUE(daemon.serving()) << daemon.Log();
  const v1::Status before = StatusOf(daemon);
  BreakBesideAnother(daemon, "lose");
  AwaitRestart(daemon);
  const v1::Status after = StatusOf(daemon);
  EXPECT_EQ(after.pid(), static_cast<uint32_t>(daemon.pid()));
  EXPECT_EQ(after.pid(), before.pid());
  EXPECT_EQ(after.restarts(), 1u);
  EXPECT_EQ(after.devices(0).state(), v1::DeviceStatus::OPEN);
  EXPECT_EQ(after.admin_address(), before.admin_address());
  for (const std::string& address : {daemon.socket(), daemon.tcp()}) {
    const ScanOutcome scan = Scan(address, {Token("d", 4)});
    ASSERT_TRUE(scan.status.ok()) << scan.status.error_message();
    EXPECT_EQ(scan.findings.at("d").size(), 1u);
    EXPECT_EQ(scan.receipts.at("d").route(), v1::ROUTE_VULKAN);
    EXPECT_FALSE(scan.receipts.at("d").recovered());
  }
  EXPECT_EQ(Health(daemon, "keysieve.accelerator"), "\x08\x01");
  ExpectCleanEnd(daemon);
}

TEST(Faults, AScanThatOutlastsTheWaitIsToldToComeBack) {
  const Folder folder;
  Keysieved daemon(Arguments(folder, "restart = \"exec\"\nmax_wait_s = 1\n"), KEYSIEVED_FAULTY);
  ASSERT_TRUE(daemon.serving()) << daemon.Log();
  const auto stub = v1::ScanService::NewStub(Dial(daemon.tcp()));
  grpc::ClientContext context;
  const auto held = stub->Scan(&context);
  v1::ScanRequest request;
  request.mutable_options();
  ASSERT_TRUE(held->Write(request));
  v1::ScanReply reply;
  ASSERT_TRUE(held->Read(&reply));
  EXPECT_TRUE(Scan(daemon.tcp(), {Token("b", 2, Breaks("lose"))}).status.ok());
  while (held->Read(&reply)) {
  }
  const grpc::Status status = held->Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_THAT(status.error_details(), HasSubstr("google.rpc.RetryInfo"));
  AwaitRestart(daemon);
  EXPECT_EQ(Scan(daemon.tcp(), {Token("d", 4)}).receipts.at("d").route(), v1::ROUTE_VULKAN);
  ExpectCleanEnd(daemon);
}

TEST(Faults, SettingsThatWouldKeepItFromStartingKeepItFromRestarting) {
  const Folder folder;
  Keysieved daemon(Arguments(folder, "restart = \"exec\"\n"), KEYSIEVED_FAULTY);
  ASSERT_TRUE(daemon.serving()) << daemon.Log();
  folder.Write("k.toml", "[recovery]\nrestart = \"sometimes\"\n");
  EXPECT_TRUE(Scan(daemon.tcp(), {Token("b", 2, Breaks("lose"))}).status.ok());
  while (daemon.Log().find("postponed: ") == std::string::npos) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  EXPECT_TRUE(StatusOf(daemon).restart_pending());
  const ScanOutcome scan = Scan(daemon.tcp(), {Token("d", 4)});
  EXPECT_EQ(scan.findings.at("d").size(), 1u);
  EXPECT_TRUE(scan.receipts.at("d").recovered());
  ExpectCleanEnd(daemon);
}

TEST(Faults, AnOperatorTakesADeviceOutAndBringsItBackAndDrains) {
  const Folder folder;
  Keysieved daemon(Arguments(folder, ""), KEYSIEVED_FAULTY);
  ASSERT_TRUE(daemon.serving()) << daemon.Log();
  const Ended out = RunProgram(
      {KEYSIEVE, "quarantine", "vulkan:0", "--reason", "new fan", "--server", daemon.socket()});
  EXPECT_EQ(out.code, 0) << out.output;
  EXPECT_THAT(out.output, HasSubstr("quarantined by an operator: new fan"));
  const ScanOutcome on_cpu = Scan(daemon.tcp(), {Token("d", 4)});
  EXPECT_EQ(on_cpu.receipts.at("d").route(), v1::ROUTE_CPU);
  const Ended back = RunProgram({KEYSIEVE, "resume", "vulkan:0", "--server", daemon.socket()});
  EXPECT_EQ(back.code, 0) << back.output;
  EXPECT_EQ(Scan(daemon.tcp(), {Token("d", 4)}).receipts.at("d").route(), v1::ROUTE_VULKAN);
  const Ended wrong = RunProgram({KEYSIEVE, "resume", "cuda:7", "--server", daemon.socket()});
  EXPECT_EQ(wrong.code, 3);
  EXPECT_THAT(wrong.output, HasSubstr("there are: vulkan:0, cpu:0"));
  const Ended refused = RunProgram({KEYSIEVE, "drain", "--server", daemon.tcp()});
  EXPECT_EQ(refused.code, 3);
  EXPECT_THAT(refused.output, HasSubstr("only the daemon's own user"));
  EXPECT_EQ(RunProgram({KEYSIEVE, "drain", "--server", daemon.socket()}).code, 0);
  EXPECT_EQ(daemon.Wait(), 0) << daemon.Log();
}

}  // namespace
}  // namespace keysieve::e2e
