// SPDX-License-Identifier: MIT
#include "daemon/admin/http_endpoint.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>

#include "evidence/base/status.h"

namespace keysieve::admin {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// The whole answer to a request as it stands.
std::string Ask(const std::string& host_port, const std::string& request) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port =
      htons(static_cast<uint16_t>(std::stoi(host_port.substr(host_port.rfind(':') + 1))));
  ::inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  EXPECT_EQ(::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  ::send(fd, request.data(), request.size(), MSG_NOSIGNAL);
  std::string reply;
  char buffer[4096];
  for (ssize_t n; (n = ::recv(fd, buffer, sizeof(buffer), 0)) > 0;) {
    reply.append(buffer, static_cast<size_t>(n));
  }
  ::close(fd);
  return reply;
}

std::string Get(const std::string& host_port, const std::string& path) {
  return Ask(host_port, "GET " + path + " HTTP/1.1\r\nHost: x\r\n\r\n");
}

struct Served {
  std::atomic<bool> ready{true};
  std::unique_ptr<HttpEndpoint> endpoint;
  Served() {
    auto started = HttpEndpoint::Start(*config::ParseAddress("127.0.0.1:0"),
                                       {.metrics = [] { return std::string("a_total 1\n"); },
                                        .ready = [this] { return ready.load(); },
                                        .front = [] { return std::string("hello\n"); },
                                        .live = [] { return std::string("part\n"); },
                                        .style = "b{}",
                                        .script = "go()"});
    EXPECT_TRUE(started.ok()) << started.status();
    endpoint = *std::move(started);
  }
};

TEST(HttpEndpoint, ServesMetricsWithPrometheusType) {
  Served s;
  const std::string reply = Get(s.endpoint->address(), "/metrics");
  EXPECT_THAT(reply, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(reply, HasSubstr("Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"));
  EXPECT_THAT(reply, HasSubstr("\r\n\r\na_total 1\n"));
}

TEST(HttpEndpoint, ReadinessFollowsTheDaemon) {
  Served s;
  EXPECT_THAT(Get(s.endpoint->address(), "/-/ready"), StartsWith("HTTP/1.1 200 "));
  s.ready = false;
  EXPECT_THAT(Get(s.endpoint->address(), "/-/ready"), StartsWith("HTTP/1.1 503 "));
  EXPECT_THAT(Get(s.endpoint->address(), "/-/healthy"), StartsWith("HTTP/1.1 200 "));
}

TEST(HttpEndpoint, OnlyReadsAndOnlyItsPages) {
  Served s;
  const std::string& at = s.endpoint->address();
  EXPECT_THAT(Get(at, "/"), HasSubstr("Content-Type: text/html; charset=utf-8\r\n"));
  EXPECT_THAT(Get(at, "/"), HasSubstr("hello"));
  EXPECT_THAT(Get(at, "/"), HasSubstr("Content-Security-Policy: default-src 'none';"));
  EXPECT_THAT(Get(at, "/live"), HasSubstr("part"));
  EXPECT_THAT(Get(at, "/style.css"), HasSubstr("text/css; charset=utf-8\r\n"));
  EXPECT_THAT(Get(at, "/style.css"), HasSubstr("b{}"));
  EXPECT_THAT(Get(at, "/refresh.js"), HasSubstr("go()"));
  EXPECT_THAT(Get(at, "/etc/passwd"), StartsWith("HTTP/1.1 404 "));
  EXPECT_THAT(Get(at, "/../../etc/passwd"), Not(HasSubstr("root:")));
  EXPECT_THAT(Ask(at, "POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"),
              StartsWith("HTTP/1.1 405 "));
  EXPECT_THAT(Ask(at, "HEAD /metrics HTTP/1.1\r\nHost: x\r\n\r\n"), Not(HasSubstr("a_total")));
}

TEST(HttpEndpoint, AnAddressInUseIsNamed) {
  Served s;
  const auto second = HttpEndpoint::Start(*config::ParseAddress(s.endpoint->address()), {});
  ASSERT_FALSE(second.ok());
  EXPECT_THAT(Message(second.status()), HasSubstr(s.endpoint->address()));
}

}  // namespace
}  // namespace keysieve::admin
