// SPDX-License-Identifier: MIT
// Starting, refusing to start, clients that are killed, signals, the end.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "tests/e2e/daemon_process.h"

namespace keysieve::e2e {
namespace {

using ::testing::HasSubstr;

TEST(Lifecycle, BadSettingsExitWithTwoAndNameTheKey) {
  const Folder folder;
  const std::string config = folder.Write("k.toml", "[limits]\nblob_byte = 1\n");
  for (const bool check : {false, true}) {
    std::vector<std::string> argv = {KEYSIEVED, "--config", config};
    if (check) argv.push_back("--check");
    const Ended ended = RunProgram(argv);
    EXPECT_EQ(ended.code, 2);
    EXPECT_THAT(ended.output, HasSubstr(config + ":2: limits.blob_byte: unknown key; did you mean "
                                                 "limits.blob_bytes?"));
  }
  EXPECT_EQ(RunProgram({KEYSIEVED, "--no-such-flag"}).code, 2);
  EXPECT_EQ(RunProgram({KEYSIEVED, "--backend", "gpu"}).code, 2);
}

TEST(Lifecycle, BadRulesExitWithTwo) {
  const Folder folder;
  const std::string rules = folder.Write("r.toml", "[[rules]]\nid = \"x\"\nregex = \"(\"\n");
  for (const char* last : {"--check", "--admin-listen=off"}) {
    const Ended ended = RunProgram({KEYSIEVED, "--rules", rules, last});
    EXPECT_EQ(ended.code, 2) << ended.output;
    EXPECT_THAT(ended.output, HasSubstr("r.toml"));
  }
}

TEST(Lifecycle, CheckAcceptsTheDefaults) {
  const Ended ended = RunProgram({KEYSIEVED, "--check"});
  EXPECT_EQ(ended.code, 0) << ended.output;
  EXPECT_THAT(ended.output, HasSubstr("digest"));
  EXPECT_EQ(RunProgram({KEYSIEVED, "rules", "check", DEFAULT_RULES}).code, 0);
  EXPECT_EQ(RunProgram({KEYSIEVED, "rules", "frobnicate"}).code, 2);
}

TEST(Lifecycle, ANamedBackendThatIsNotThereExitsWithThree) {
  Keysieved daemon({"--backend", "metal"});
  EXPECT_FALSE(daemon.serving());
  EXPECT_EQ(daemon.code(), 3);
  EXPECT_THAT(daemon.Log(), HasSubstr("metal"));
}

TEST(Lifecycle, AnAddressInUseExitsWithThree) {
  Keysieved first({"--backend", "cpu"});
  ASSERT_TRUE(first.serving()) << first.Log();
  for (const std::string& address : {first.socket(), first.tcp()}) {
    const Ended second =
        RunProgram({KEYSIEVED, "--backend", "cpu", "--admin-listen", "off", "--listen", address});
    EXPECT_EQ(second.code, 3) << second.output;
  }
  const Ended admin = RunProgram(
      {KEYSIEVED, "--backend", "cpu", "--admin-listen", first.admin(), "--listen", "127.0.0.1:0"});
  EXPECT_EQ(admin.code, 3) << admin.output;
  EXPECT_TRUE(Scan(first.socket(), {{"f", "x"}}).status.ok());
}

// A client process that sends half of 50 MB and is killed, beside a scan of 50 MB.
void KillOneBesideAnother(const Keysieved& daemon, const std::vector<File>& files) {
  int pipe[2];
  ASSERT_EQ(::pipe2(pipe, O_CLOEXEC), 0);
  const std::string address = daemon.tcp();
  const pid_t victim = ::vfork();
  if (victim == 0) {
    ::dup2(pipe[1], 1);
    ::execl("/proc/self/exe", "victim", "--victim", address.c_str(), nullptr);
    ::_exit(127);
  }
  ::close(pipe[1]);
  ScanOutcome outcome;
  std::thread other([&] { outcome = Scan(daemon.tcp(), files); });
  char buffer[8];
  EXPECT_GT(::read(pipe[0], buffer, sizeof(buffer)), 0);  // it has sent its half
  ::kill(victim, SIGKILL);
  ::waitpid(victim, nullptr, 0);
  ::close(pipe[0]);
  other.join();
  ASSERT_TRUE(outcome.status.ok()) << outcome.status.error_message();
  EXPECT_EQ(outcome.findings.at("large").size(), 1u);
}

void Settle(const Keysieved& daemon) {
  while (daemon.Metric("keysieve_inflight_bytes") != 0.0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

// AddressSanitizer keeps freed memory in quarantine, so resident bytes say nothing there.
#ifdef __SANITIZE_ADDRESS__
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

TEST(Lifecycle, AKilledClientCostsNeitherMemoryNorThreads) {
  Keysieved daemon({"--backend", "cpu"});
  ASSERT_TRUE(daemon.serving()) << daemon.Log();
  const std::vector<File> files = {
      {"large", Filler(25 << 20, 1) + "\n" + FakeGithubToken(9) + "\n" + Filler(25 << 20, 2)}};
  KillOneBesideAnother(daemon, files);
  Settle(daemon);
  const double threads = *daemon.Metric("process_threads");
  const double fds = *daemon.Metric("process_open_fds");
  for (int i = 0; i < 4; ++i) KillOneBesideAnother(daemon, files);
  Settle(daemon);
  // The daemon at rest gives memory back; a leak of these scans would be 100 MB or more.
  const double limit = 220e6;
  while (!kSanitized && *daemon.Metric("process_resident_memory_bytes") > limit) {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
  EXPECT_LE(*daemon.Metric("process_threads"), threads + 8);  // gRPC's pool breathes
  EXPECT_LE(*daemon.Metric("process_open_fds"), fds + 4);
  EXPECT_EQ(daemon.Metric("keysieve_scans_total{result=\"cancelled\"}"), 5.0);
  EXPECT_EQ(daemon.Metric("keysieve_scans_total{result=\"complete\"}"), 5.0);
}

TEST(Lifecycle, TermLetsAScanEndAndRefusesNewOnes) {
  Keysieved daemon({"--backend", "cpu"});
  ASSERT_TRUE(daemon.serving()) << daemon.Log();
  const auto channel = Dial(daemon.socket());
  const auto stub = v1::ScanService::NewStub(channel);
  grpc::ClientContext context;
  const auto call = stub->Scan(&context);
  v1::ScanRequest request;
  request.mutable_options();
  ASSERT_TRUE(call->Write(request));
  v1::ScanReply reply;
  ASSERT_TRUE(call->Read(&reply));
  ASSERT_TRUE(reply.has_accepted());
  daemon.Signal(SIGTERM);
  int code = 200;
  while (code == 200) HttpGet(daemon.admin(), "/-/ready", &code);
  EXPECT_EQ(code, 503);
  EXPECT_EQ(Scan(daemon.tcp(), {}).status.error_code(), grpc::StatusCode::UNAVAILABLE);
  const std::string token = FakeGithubToken(3) + "\n";
  request.Clear();
  v1::Chunk* chunk = request.mutable_chunks()->add_chunks();
  chunk->set_path("f");
  chunk->set_data(token);
  chunk->set_last(true);
  ASSERT_TRUE(call->Write(request));
  call->WritesDone();
  int findings = 0;
  while (call->Read(&reply)) findings += reply.blob().findings_size();
  EXPECT_TRUE(call->Finish().ok());
  EXPECT_EQ(findings, 1);
  EXPECT_EQ(daemon.Wait(), 0);
  EXPECT_NE(::access(daemon.socket().substr(5).c_str(), F_OK), 0);
  EXPECT_THAT(daemon.Log(), HasSubstr("\"event\":\"stop\""));
}

TEST(Lifecycle, ASecondTermDoesNotWait) {
  Keysieved daemon({"--backend", "cpu"});
  ASSERT_TRUE(daemon.serving()) << daemon.Log();
  const auto stub = v1::ScanService::NewStub(Dial(daemon.socket()));
  grpc::ClientContext context;
  const auto call = stub->Scan(&context);
  v1::ScanRequest request;
  request.mutable_options();
  ASSERT_TRUE(call->Write(request));
  v1::ScanReply reply;
  ASSERT_TRUE(call->Read(&reply));
  daemon.Signal(SIGTERM);
  while (daemon.Log().find("\"event\":\"drain\"") == std::string::npos) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  daemon.Signal(SIGTERM);
  EXPECT_EQ(daemon.Wait(), 0);
  while (call->Read(&reply)) {
  }
  EXPECT_EQ(call->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST(Lifecycle, HangupChecksAndGoesOn) {
  const Folder folder;
  const std::string config = folder.Write("k.toml", "[limits]\nstreams = 10\n");
  Keysieved daemon({"--backend", "cpu", "--config", config});
  ASSERT_TRUE(daemon.serving()) << daemon.Log();
  folder.Write("k.toml", "[limits]\nstreams = 0\n");
  daemon.Signal(SIGHUP);
  while (daemon.Log().find("limits.streams: 0 is out of range") == std::string::npos) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_TRUE(Scan(daemon.tcp(), {{"f", "x"}}).status.ok());
  daemon.Signal(SIGTERM);
  EXPECT_EQ(daemon.Wait(), 0);
}

}  // namespace
}  // namespace keysieve::e2e
