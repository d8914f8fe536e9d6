// SPDX-License-Identifier: MIT
// Clients that lie, stall, vanish or are no gRPC clients at all. Each gets a clear end, and a
// well-behaved scan beside it never notices.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <random>
#include <thread>

#include "tests/daemon/transport/test_client.h"

namespace keysieve::transport {
namespace {

using ::testing::HasSubstr;

int Connect(const std::string& host_port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port =
      htons(static_cast<uint16_t>(std::stoi(host_port.substr(host_port.rfind(':') + 1))));
  inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  EXPECT_EQ(::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  return fd;
}

// Waits until the server hangs up.
void SendAndDrain(int fd, const std::string& bytes) {
  size_t sent = 0;
  while (sent < bytes.size()) {
    const ssize_t n = ::send(fd, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (n <= 0) break;
    sent += static_cast<size_t>(n);
  }
  ::shutdown(fd, SHUT_WR);
  char buffer[4096];
  while (::recv(fd, buffer, sizeof(buffer), 0) > 0) {
  }
  ::close(fd);
}

void ExpectAGoodScan(const Service& s) {
  const Outcome good = Scan(s.tcp, {OneChunk(1, "f", 0, "KEY=abcd", true)});
  EXPECT_TRUE(good.status.ok()) << good.status.error_message();
  EXPECT_EQ(good.blobs.size(), 1u);
}

void AwaitNoStreams(const Service& s) {
  while (s.bench.pipeline->streams() > 0) std::this_thread::yield();
}

TEST(HostileClients, GarbageAndOtherProtocolsAreHungUpOn) {
  Service s;
  std::mt19937 random(1);
  std::string noise(100'000, 0);
  for (char& c : noise) c = static_cast<char>(random());
  const std::string preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
  for (const std::string& bytes :
       {noise, std::string("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"), preface + noise,
        preface + std::string("\0\0\0\4\0\0\0\0\0", 9) + noise, std::string()}) {
    SendAndDrain(Connect(s.tcp), bytes);
    ExpectAGoodScan(s);
  }
}

TEST(HostileClients, AMessageThatIsNoProtobufFailsItsCallOnly) {
  Service s;
  const auto channel = Dial(s.tcp);
  const grpc::internal::RpcMethod method("/keysieve.v1.ScanService/Scan",
                                         grpc::internal::RpcMethod::BIDI_STREAMING, channel);
  grpc::ClientContext context;
  std::unique_ptr<grpc::ClientReaderWriter<grpc::ByteBuffer, v1::ScanReply>> call(
      grpc::internal::ClientReaderWriterFactory<grpc::ByteBuffer, v1::ScanReply>::Create(
          channel.get(), method, &context));
  const grpc::Slice junk("\xff\xff\xff\xff\xff junk");
  call->Write(grpc::ByteBuffer(&junk, 1));
  call->WritesDone();
  v1::ScanReply reply;
  while (call->Read(&reply)) {
  }
  EXPECT_FALSE(call->Finish().ok());
  AwaitNoStreams(s);
  ExpectAGoodScan(s);
}

TEST(HostileClients, MessagesOutOfOrderAreNamed) {
  Service s;
  struct Case {
    std::vector<v1::ScanRequest> requests;
    bool options;
    const char* message;
  };
  for (const Case& c : std::vector<Case>{
           {{OneChunk(1, "f", 0, "x", true)}, false, "the first message must be the options"},
           {{Options()}, true, "options belong to the first message only"},
           {{v1::ScanRequest()}, true, "neither options nor chunks"},
           {{OneChunk(1, "f", 0, "x", false), OneChunk(2, "g", 0, "y", true)},
            true,
            "blob 2: it begins before blob 1"},
           {{OneChunk(1, "f", 0, "x", false)}, true, "before its last chunk"}}) {
    const auto stub = v1::ScanService::NewStub(Dial(s.tcp));
    grpc::ClientContext context;
    const auto call = stub->Scan(&context);
    if (c.options) call->Write(Options());
    for (const auto& request : c.requests) call->Write(request);
    call->WritesDone();
    const Outcome outcome = Finish(*call);
    EXPECT_EQ(outcome.status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    EXPECT_THAT(outcome.status.error_message(), HasSubstr(c.message));
  }
  ExpectAGoodScan(s);
}

TEST(HostileClients, OversizeChunksAndMessagesAreRefused) {
  Service s;
  const Outcome chunk = Scan(s.tcp, {OneChunk(1, "f", 0, std::string((1 << 20) + 1, 'x'), true)});
  EXPECT_EQ(chunk.status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(chunk.status.error_message(), HasSubstr("exceeds the limit of 1048576"));
  v1::ScanRequest five = OneChunk(1, "f", 0, std::string(1 << 20, 'x'), false);
  for (uint64_t i = 1; i < 5; ++i) {
    five.MergeFrom(OneChunk(1, "f", i << 20, std::string(1 << 20, 'x'), i == 4));
  }
  const Outcome chunks = Scan(s.tcp, {five});
  EXPECT_EQ(chunks.status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(chunks.status.error_message(), HasSubstr("exceed the limit of 4194304"));
  // Past what any message may have, gRPC itself refuses it before it is read.
  const Outcome message = Scan(s.tcp, {OneChunk(1, "f", 0, std::string(20 << 20, 'x'), true)});
  EXPECT_EQ(message.status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_FALSE(DetailOf<google::rpc::RetryInfo>(message.status).has_value());
  AwaitNoStreams(s);
  ExpectAGoodScan(s);
}

TEST(HostileClients, OneThatVanishesMidwayGivesItsMemoryBackAndOthersGoOn) {
  Service s;
  const auto good_stub = v1::ScanService::NewStub(Dial(s.tcp));
  grpc::ClientContext good_context;
  const auto good = good_stub->Scan(&good_context);
  ASSERT_TRUE(good->Write(Options()));
  ASSERT_TRUE(good->Write(OneChunk(1, "f", 0, "KEY=", false)));
  for (int i = 0; i < 20; ++i) {
    const auto stub = v1::ScanService::NewStub(Dial(i % 2 == 0 ? s.tcp : "unix:" + s.socket));
    grpc::ClientContext context;
    const auto call = stub->Scan(&context);
    ASSERT_TRUE(call->Write(Options()));
    ASSERT_TRUE(call->Write(OneChunk(1, "f", 0, std::string(200'000, 'x'), false)));
    v1::ScanReply reply;
    ASSERT_TRUE(call->Read(&reply));
    context.TryCancel();
    EXPECT_EQ(call->Finish().error_code(), grpc::StatusCode::CANCELLED);
  }
  while (s.bench.pipeline->streams() > 1) std::this_thread::yield();
  ASSERT_TRUE(good->Write(OneChunk(1, "", 4, "abcd", true)));
  good->WritesDone();
  const Outcome outcome = Finish(*good);
  ASSERT_TRUE(outcome.status.ok()) << outcome.status.error_message();
  EXPECT_EQ(outcome.blobs.at(0).findings_size(), 1);
  AwaitNoStreams(s);
  EXPECT_EQ(s.bench.pipeline->memory_in_use(), 0u);
}

TEST(HostileClients, OneThatSaysNothingEndsWithADeadline) {
  Service s({.idle = std::chrono::seconds(5)});
  const auto stub = v1::ScanService::NewStub(Dial(s.tcp));
  grpc::ClientContext context;
  const auto call = stub->Scan(&context);
  ASSERT_TRUE(call->Write(Options()));
  ASSERT_TRUE(call->Write(OneChunk(1, "f", 0, "x", false)));
  v1::ScanReply reply;
  ASSERT_TRUE(call->Read(&reply));
  std::atomic<bool> over{false};
  std::thread time([&] {
    while (!over.load()) {
      s.bench.Advance(1'000);
      s.bench.pipeline->Tick();
      std::this_thread::yield();
    }
  });
  const Outcome outcome = Finish(*call);
  over = true;
  time.join();
  EXPECT_EQ(outcome.status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_EQ(DetailOf<google::rpc::ErrorInfo>(outcome.status)->reason(), "IDLE");
}

TEST(HostileClients, OneThatDoesNotReadItsRepliesIsAborted) {
  Service s({.blob_limit = 1 << 20, .memory_limit = 8 << 20, .reply_backlog = 1 << 20});
  const auto stub = v1::ScanService::NewStub(Dial(s.tcp));
  grpc::ClientContext context;
  const auto call = stub->Match(&context);
  v1::MatchRequest request;
  request.mutable_options()->add_patterns()->set_literal("a");
  ASSERT_TRUE(call->Write(request));
  request.Clear();
  v1::Chunk* chunk = request.mutable_chunks()->add_chunks();
  chunk->set_data(std::string(1 << 20, 'a'));  // replies of megabytes
  chunk->set_last(true);
  ASSERT_TRUE(call->Write(request));
  // Nobody reads. Once a write stands still, a minute passes.
  while (s.bench.counters.Read().blobs == 0) std::this_thread::yield();
  while (s.bench.pipeline->streams() > 0) {
    s.bench.Advance(10'000);
    s.bench.pipeline->Tick();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  v1::MatchReply reply;
  while (call->Read(&reply)) {
  }
  const grpc::Status status = call->Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::ABORTED) << status.error_message();
  EXPECT_THAT(status.error_message(), HasSubstr("not read"));
  ExpectAGoodScan(s);
}

TEST(HostileClients, ManyAtOnceDoNotDisturbGoodScans) {
  Service s({.blob_limit = 256 << 10, .memory_limit = 1 << 20});
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(t);
      for (int i = 0; i < 15; ++i) {
        if (random() % 3 != 0) {
          ExpectAGoodScan(s);
          continue;
        }
        const auto stub = v1::ScanService::NewStub(Dial(s.tcp));
        grpc::ClientContext context;
        const auto call = stub->Scan(&context);
        call->Write(Options());
        call->Write(OneChunk(1, "f", random() % 2, std::string(random() % 100'000, 'x'), false));
        if (random() % 2 == 0) context.TryCancel();
        call->WritesDone();
        EXPECT_FALSE(Finish(*call).status.ok());
      }
    });
  }
  for (auto& thread : threads) thread.join();
  AwaitNoStreams(s);
  EXPECT_EQ(s.bench.pipeline->memory_in_use(), 0u);
}

}  // namespace
}  // namespace keysieve::transport
