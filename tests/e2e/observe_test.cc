// SPDX-License-Identifier: MIT
// What operators see: status, metrics that promtool has nothing to say about, a real Prometheus.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "tests/e2e/daemon_process.h"

namespace keysieve::e2e {
namespace {

using ::testing::HasSubstr;

bool Installed(const std::string& program) {
  return RunProgram({"sh", "-c", "command -v " + program}).code == 0;
}

int FreePort() {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address));
  socklen_t size = sizeof(address);
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  ::close(fd);
  return ntohs(address.sin_port);
}

TEST(Observe, StatusSaysWhatRunsAndWhy) {
  Keysieved daemon({"--backend", "cpu"});
  ASSERT_TRUE(daemon.serving()) << daemon.Log();
  const auto stub = v1::AdminService::NewStub(Dial(daemon.socket()));
  grpc::ClientContext context;
  v1::Status status;
  ASSERT_TRUE(stub->GetStatus(&context, {}, &status).ok());
  EXPECT_TRUE(status.ready());
  EXPECT_EQ(status.pid(), static_cast<uint32_t>(daemon.pid()));
  ASSERT_EQ(status.devices_size(), 1);
  EXPECT_EQ(status.devices(0).backend(), "cpu");
  EXPECT_EQ(status.devices(0).state(), v1::DeviceStatus::OPEN);
  EXPECT_GT(status.devices(0).resident_bytes(), 0u);
  EXPECT_GT(status.rules().rules(), 100u);
  EXPECT_EQ(status.rules().digest().size(), 64u);
  EXPECT_EQ(status.admin_address(), daemon.admin());
  EXPECT_EQ(status.listen_size(), 2);
  EXPECT_FALSE(status.route_reason().empty());
}

TEST(Observe, PagesAnswer) {
  Keysieved daemon({"--backend", "cpu"});
  ASSERT_TRUE(daemon.serving()) << daemon.Log();
  int code = 0;
  EXPECT_EQ(HttpGet(daemon.admin(), "/-/healthy", &code), "healthy\n");
  EXPECT_EQ(code, 200);
  EXPECT_EQ(HttpGet(daemon.admin(), "/-/ready", &code), "ready\n");
  EXPECT_EQ(code, 200);
  EXPECT_THAT(HttpGet(daemon.admin(), "/", &code), HasSubstr("<b>cpu:0</b>"));
  EXPECT_EQ(code, 200);
  HttpGet(daemon.admin(), "/etc/passwd", &code);
  EXPECT_EQ(code, 404);
  HttpGet(daemon.admin(), "/../../etc/passwd", &code);
  EXPECT_NE(code, 200);
}

double MetricOf(const v1::Profile& profile, const std::string& name, const std::string& label) {
  for (const v1::ProfileMetric& metric : profile.metrics()) {
    if (metric.name() == name && metric.label() == label) return metric.value();
  }
  return 0;
}

TEST(Observe, AProfiledScanSaysWhatTheDeviceDidForIt) {
  Keysieved daemon({"--backend", "vulkan"});
  if (!daemon.serving()) GTEST_SKIP() << "no Vulkan device here: " << daemon.Log();
  const std::string text = Filler(100'000, 3);
  ASSERT_TRUE(Scan(daemon.tcp(), {{"other", text}}).status.ok());  // another scan's work
  const auto before =
      daemon.Metric("keysieve_gpu_kernel_seconds_total{backend=\"vulkan\",device=\"0\"}");
  const ScanOutcome scan = Scan(daemon.tcp(), {{"f", text}}, false, true);
  ASSERT_TRUE(scan.status.ok());
  const auto after =
      daemon.Metric("keysieve_gpu_kernel_seconds_total{backend=\"vulkan\",device=\"0\"}");
  ASSERT_TRUE(scan.summary->has_profile());
  const v1::Profile& profile = scan.summary->profile();
  EXPECT_EQ(profile.unavailable(), "");
  const double kernel = MetricOf(profile, "keysieve_gpu_kernel_seconds_total", "");
  EXPECT_GT(kernel, 0);
  EXPECT_NEAR(kernel, *after - *before, 1e-9) << "nothing else ran";
  EXPECT_NEAR(profile.device_seconds().at("vulkan"), kernel, 1e-9);
  EXPECT_EQ(MetricOf(profile, "keysieve_gpu_dispatches_total", ""), 1);
  EXPECT_GE(MetricOf(profile, "keysieve_gpu_upload_bytes_total", "text"), text.size());
  EXPECT_NEAR(MetricOf(profile, "keysieve_gpu_submit_to_complete_seconds_total", ""),
              kernel + MetricOf(profile, "keysieve_gpu_queue_wait_seconds_total", ""), 1e-9);
  ASSERT_GT(profile.events_size(), 0);
  EXPECT_EQ(profile.events(0).name(), "adapter_acquired");
  EXPECT_EQ(profile.events(0).backend(), "vulkan");
  EXPECT_FALSE(Scan(daemon.tcp(), {{"f", text}}).summary->has_profile());
}

TEST(Observe, AScanOnTheCpuHasNoAcceleratorFamily) {
  Keysieved daemon({"--backend", "cpu"});
  ASSERT_TRUE(daemon.serving()) << daemon.Log();
  const ScanOutcome scan = Scan(daemon.tcp(), {{"f", Filler(1000, 3)}}, false, true);
  ASSERT_TRUE(scan.summary->has_profile());
  EXPECT_EQ(scan.summary->profile().metrics_size(), 0);
  EXPECT_EQ(scan.summary->profile().events_size(), 0);
  EXPECT_THAT(HttpGet(daemon.admin(), "/metrics"), ::testing::Not(HasSubstr("keysieve_gpu_")));
}

TEST(Observe, PromtoolHasNothingToSay) {
  if (!Installed("promtool")) GTEST_SKIP() << "promtool is not installed";
  for (const char* backend : {"cpu", "vulkan"}) {
    Keysieved daemon({"--backend", backend});
    if (!daemon.serving()) {
      ASSERT_STREQ(backend, "vulkan") << daemon.Log();
      GTEST_SKIP() << "no Vulkan device here: " << daemon.Log();
    }
    ASSERT_TRUE(Scan(daemon.tcp(), {{"f", FakeGithubToken(1) + "\n"}}).status.ok());
    const Ended check =
        RunProgram({"promtool", "check", "metrics"}, HttpGet(daemon.admin(), "/metrics"));
    EXPECT_EQ(check.code, 0);
    EXPECT_EQ(check.output, "");
  }
}

TEST(Observe, APrometheusScrapesIt) {
  if (!Installed("prometheus")) GTEST_SKIP() << "prometheus is not installed";
  Keysieved daemon({"--backend", "cpu"});
  ASSERT_TRUE(daemon.serving()) << daemon.Log();
  ASSERT_TRUE(Scan(daemon.tcp(), {{"a", "x"}, {"b", "y"}, {"c", "z"}}).status.ok());
  const Folder folder;
  const std::string config = folder.Write("prometheus.yml",
                                          "global: {scrape_interval: 1s}\nscrape_configs:\n  - "
                                          "job_name: keysieve\n    static_configs:\n"
                                          "      - targets: ['" +
                                              daemon.admin() + "']\n");
  const std::string address = "127.0.0.1:" + std::to_string(FreePort());
  // A vfork child shares this process's heap: whatever it would allocate is made before.
  const std::string config_flag = "--config.file=" + config;
  const std::string data_flag = "--storage.tsdb.path=" + folder.path() + "/data";
  const std::string listen_flag = "--web.listen-address=" + address;
  const int null = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  const pid_t pid = ::vfork();
  if (pid == 0) {
    ::dup2(null, 1);
    ::dup2(null, 2);
    ::execlp("prometheus", "prometheus", config_flag.c_str(), data_flag.c_str(),
             listen_flag.c_str(), nullptr);
    ::_exit(127);
  }
  ::close(null);
  std::string answer;
  while (answer.find("\"3\"]") == std::string::npos && ::waitpid(pid, nullptr, WNOHANG) == 0) {
    answer = HttpGet(address, "/api/v1/query?query=keysieve_blobs_total");
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
  EXPECT_THAT(answer, HasSubstr("\"3\"]"));
  EXPECT_THAT(HttpGet(address, "/api/v1/query?query=up"), HasSubstr("\"1\"]"));
  ::kill(pid, SIGTERM);
  ::waitpid(pid, nullptr, 0);
}

}  // namespace
}  // namespace keysieve::e2e
