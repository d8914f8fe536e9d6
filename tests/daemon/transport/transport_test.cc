// SPDX-License-Identifier: MIT
// The protocol as a client sees it: answers, details, health, reflection, who may see secrets.
#include <gmock/gmock.h>
#include <grpcpp/impl/codegen/client_unary_call.h>
#include <grpcpp/impl/codegen/rpc_method.h>
#include <gtest/gtest.h>

#include "tests/daemon/transport/test_client.h"

namespace keysieve::transport {
namespace {

using ::testing::HasSubstr;

TEST(Transport, AScanBringsFindingsReceiptAndSummary) {
  Service s;
  for (const std::string& address : {"unix:" + s.socket, s.tcp}) {
    const Outcome outcome = Scan(
        address, {OneChunk(7, "dir/f", 0, "x\nKEY=ab", false), OneChunk(7, "", 8, "cd", true)});
    ASSERT_TRUE(outcome.status.ok()) << outcome.status.error_message();
    ASSERT_EQ(outcome.blobs.size(), 1u);
    const v1::BlobResult& blob = outcome.blobs[0];
    EXPECT_EQ(blob.blob_id(), 7u);
    ASSERT_EQ(blob.findings_size(), 1);
    EXPECT_EQ(blob.findings(0).rule_id(), "key");
    EXPECT_EQ(blob.findings(0).path(), "dir/f");
    EXPECT_EQ(blob.findings(0).secret(), "REDACTED");
    EXPECT_EQ(blob.findings(0).start(), 2u);
    EXPECT_EQ(blob.receipt().scanned_bytes(), 10u);
    EXPECT_EQ(blob.receipt().route(), v1::ROUTE_CPU);
    ASSERT_TRUE(outcome.summary.has_value());
    EXPECT_TRUE(outcome.summary->complete());
    EXPECT_EQ(outcome.summary->route_bytes().at("cpu"), 10u);
  }
}

TEST(Transport, SecretsAreShownOnTheOwnersSocketOnly) {
  Service s;
  const auto chunk = OneChunk(1, "f", 0, "KEY=s3cr", true);
  const Outcome own = Scan("unix:" + s.socket, {chunk}, true);
  ASSERT_TRUE(own.status.ok()) << own.status.error_message();
  EXPECT_EQ(own.blobs.at(0).findings(0).secret(), "s3cr");
  const Outcome tcp = Scan(s.tcp, {chunk}, true);
  EXPECT_EQ(tcp.status.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_THAT(tcp.status.error_message(), HasSubstr("came over TCP"));
  EXPECT_TRUE(tcp.blobs.empty());
  EXPECT_EQ(DetailOf<google::rpc::ErrorInfo>(tcp.status)->reason(), "NOT_THE_OWNER");
  EXPECT_EQ(DetailOf<google::rpc::ErrorInfo>(tcp.status)->domain(), "keysieve");
  EXPECT_FALSE(DetailOf<google::rpc::RetryInfo>(tcp.status).has_value());
}

TEST(Transport, MatchBringsEveryHit) {
  Service s;
  const auto stub = v1::ScanService::NewStub(Dial(s.tcp));
  grpc::ClientContext context;
  const auto call = stub->Match(&context);
  v1::MatchRequest request;
  request.mutable_options()->add_patterns()->set_literal("aa");
  ASSERT_TRUE(call->Write(request));
  request.Clear();
  v1::Chunk* chunk = request.mutable_chunks()->add_chunks();
  chunk->set_blob_id(1);
  chunk->set_data(std::string(100'000, 'a'));
  chunk->set_last(true);
  ASSERT_TRUE(call->Write(request));
  call->WritesDone();
  v1::MatchReply reply;
  uint64_t hits = 0;
  int messages = 0;
  bool receipt = false;
  while (call->Read(&reply)) {
    if (!reply.has_blob()) continue;
    ++messages;
    for (const auto& match : reply.blob().matches()) {
      EXPECT_EQ(match.start(), hits++);
      EXPECT_EQ(match.end(), match.start() + 2);
    }
    EXPECT_FALSE(receipt);  // the last message only
    receipt = reply.blob().last() && reply.blob().has_receipt();
  }
  EXPECT_TRUE(call->Finish().ok());
  EXPECT_EQ(hits, 99'999u);
  EXPECT_GT(messages, 1);
  EXPECT_TRUE(receipt);
}

TEST(Transport, ErrorsNameTheFieldInTheirDetails) {
  Service s;
  const Outcome outcome = Scan(s.tcp, {OneChunk(1, "f", 5, "x", true)});
  EXPECT_EQ(outcome.status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  const auto bad = DetailOf<google::rpc::BadRequest>(outcome.status);
  ASSERT_TRUE(bad.has_value());
  EXPECT_EQ(bad->field_violations(0).field(), "chunks.offset");
}

TEST(Transport, AFullDaemonSaysWhenToTryAgain) {
  Service s({.max_streams = 1});
  const auto stub = v1::ScanService::NewStub(Dial(s.tcp));
  grpc::ClientContext context;
  const auto held = stub->Scan(&context);
  ASSERT_TRUE(held->Write(Options()));
  v1::ScanReply accepted;
  ASSERT_TRUE(held->Read(&accepted));
  EXPECT_EQ(accepted.accepted().rule_set(), "one");
  const Outcome refused = Scan(s.tcp, {});
  EXPECT_EQ(refused.status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(DetailOf<google::rpc::RetryInfo>(refused.status)->retry_delay().seconds(), 1);
  held->WritesDone();
  EXPECT_TRUE(Finish(*held).status.ok());
}

// The health service's answer as it travels: field 1 of both messages.
const std::string kServing = "\x08\x01";
const std::string kNotServing = "\x08\x02";
std::string HealthOf(const std::shared_ptr<grpc::Channel>& channel, const std::string& service) {
  const grpc::internal::RpcMethod check("/grpc.health.v1.Health/Check",
                                        grpc::internal::RpcMethod::NORMAL_RPC, channel);
  std::string bytes;
  if (!service.empty()) {
    bytes = "\x0a";
    bytes.push_back(static_cast<char>(service.size()));
    bytes += service;
  }
  const grpc::Slice slice(bytes);
  grpc::ClientContext context;
  grpc::ByteBuffer request(&slice, 1), reply;
  const grpc::Status called = grpc::internal::BlockingUnaryCall<grpc::ByteBuffer, grpc::ByteBuffer>(
      channel.get(), check, &context, request, &reply);
  grpc::Slice answer;
  if (!called.ok() || !reply.DumpToSingleSlice(&answer).ok()) return called.error_message();
  return {reinterpret_cast<const char*>(answer.begin()), answer.size()};
}

TEST(Transport, StatusHealthAndReflectionAreServed) {
  Service s;
  for (const std::string& address : {"unix:" + s.socket, s.tcp}) {
    const auto channel = Dial(address);
    const auto admin = v1::AdminService::NewStub(channel);
    grpc::ClientContext context;
    v1::Status status;
    ASSERT_TRUE(admin->GetStatus(&context, {}, &status).ok());
    EXPECT_EQ(status.version(), "test");
    EXPECT_EQ(HealthOf(channel, ""), kServing);
    // Reflection: list_services (field 7) names ours.
    grpc::ClientContext reflect;
    const grpc::internal::RpcMethod info(
        "/grpc.reflection.v1alpha.ServerReflection/"
        "ServerReflectionInfo",
        grpc::internal::RpcMethod::BIDI_STREAMING, channel);
    std::unique_ptr<grpc::ClientReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer>> call(
        grpc::internal::ClientReaderWriterFactory<grpc::ByteBuffer, grpc::ByteBuffer>::Create(
            channel.get(), info, &reflect));
    const grpc::Slice list("\x3a\x01*");
    ASSERT_TRUE(call->Write(grpc::ByteBuffer(&list, 1)));
    call->WritesDone();
    grpc::ByteBuffer reply;
    grpc::Slice answer;
    ASSERT_TRUE(call->Read(&reply));
    ASSERT_TRUE(reply.DumpToSingleSlice(&answer).ok());
    const std::string text(reinterpret_cast<const char*>(answer.begin()), answer.size());
    EXPECT_THAT(text, HasSubstr("keysieve.v1.ScanService"));
    EXPECT_THAT(text, HasSubstr("keysieve.v1.AdminService"));
    EXPECT_TRUE(call->Finish().ok());
  }
  EXPECT_EQ(s.rpcs.Read().at({"keysieve.v1.AdminService", "GetStatus"}).handled.at("OK"), 2u);
}

TEST(Transport, CallsAreCountedByCode) {
  Service s;
  Scan(s.tcp, {OneChunk(1, "f", 0, "x", true)});
  Scan(s.tcp, {OneChunk(1, "f", 3, "x", true)});
  s.server->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(2));
  const auto values = s.rpcs.Read().at({"keysieve.v1.ScanService", "Scan"});
  EXPECT_EQ(values.started, 2u);
  EXPECT_EQ(values.handled.at("OK"), 1u);
  EXPECT_EQ(values.handled.at("INVALID_ARGUMENT"), 1u);
}

TEST(Transport, AnAddressInUseIsRefused) {
  Service s;
  for (const std::string& address : {"unix:" + s.socket, s.tcp}) {
    const auto second =
        Server::Start({*config::ParseAddress(address)}, *s.bench.pipeline, s.Admin(), s.rpcs);
    ASSERT_FALSE(second.ok()) << address;
    EXPECT_THAT(Message(second.status()), HasSubstr(address.substr(address.find('/') + 1)));
  }
  EXPECT_TRUE(Scan("unix:" + s.socket, {}).status.ok());
}

v1::AdminService::Stub AdminOf(const std::string& address) {
  return v1::AdminService::Stub(Dial(address));
}

TEST(Transport, OnlyTheOwnerGivesOrdersAndHearsWhatBecameOfThem) {
  Service s;
  v1::QuarantineDeviceRequest quarantine;
  quarantine.set_device("cuda:0");
  quarantine.set_reason("new fan");
  v1::Status status;
  {
    grpc::ClientContext context;
    const auto refused = AdminOf(s.tcp).QuarantineDevice(&context, quarantine, &status);
    EXPECT_EQ(refused.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  }
  {
    grpc::ClientContext context;
    const auto refused = AdminOf(s.tcp).ResumeDevice(&context, {}, &status);
    EXPECT_EQ(refused.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  }
  {
    grpc::ClientContext context;
    const auto refused = AdminOf(s.tcp).Drain(&context, {}, &status);
    EXPECT_EQ(refused.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  }
  EXPECT_TRUE(s.orders.empty());
  {
    grpc::ClientContext context;
    ASSERT_TRUE(AdminOf("unix:" + s.socket).QuarantineDevice(&context, quarantine, &status).ok());
    EXPECT_EQ(status.version(), "test");
  }
  {
    grpc::ClientContext context;
    quarantine.set_device("cuda:9");
    const auto unknown =
        AdminOf("unix:" + s.socket).QuarantineDevice(&context, quarantine, &status);
    EXPECT_EQ(unknown.error_code(), grpc::StatusCode::NOT_FOUND);
    EXPECT_THAT(unknown.error_message(), HasSubstr("cuda:9"));
  }
  ASSERT_EQ(s.orders.size(), 2u);
  EXPECT_EQ(s.orders[0], "quarantine cuda:0: quarantined by an operator: new fan");
}

TEST(Transport, HealthTellsTheServiceFromItsAccelerators) {
  Service s;
  const auto channel = Dial(s.tcp);
  s.server->SetAccelerated(false);
  EXPECT_EQ(HealthOf(channel, "keysieve.v1.ScanService"), kServing);
  EXPECT_EQ(HealthOf(channel, "keysieve.accelerator"), kNotServing);
  s.server->SetAccelerated(true);
  EXPECT_EQ(HealthOf(channel, "keysieve.accelerator"), kServing);
}

}  // namespace
}  // namespace keysieve::transport
