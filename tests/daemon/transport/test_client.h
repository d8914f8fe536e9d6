// SPDX-License-Identifier: MIT
// A client of few lines and a server in this process over the pipeline's fakes.
#pragma once

#include <google/rpc/error_details.pb.h>
#include <google/rpc/status.pb.h>
#include <grpcpp/create_channel.h>
#include <unistd.h>

#include "daemon/transport/server.h"
#include "tests/daemon/pipeline/fake_transport.h"

namespace keysieve::transport {

using ScanCall = grpc::ClientReaderWriter<v1::ScanRequest, v1::ScanReply>;

inline std::shared_ptr<grpc::Channel> Dial(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
}

// The server with its Unix socket and a TCP port. Declared after what it needs, so it stops first.
struct Service {
  explicit Service(pipeline::PipelineOptions options = {.blob_limit = 1 << 20,
                                                        .memory_limit = 8 << 20})
      : bench(std::move(options)) {
    char folder[] = "/tmp/ks-transport-XXXXXX";
    directory = ::mkdtemp(folder);
    socket = directory + "/k.sock";
    auto started = Server::Start(
        {*config::ParseAddress("unix:" + socket), *config::ParseAddress("127.0.0.1:0")},
        *bench.pipeline, Admin(), rpcs);
    EXPECT_TRUE(started.ok()) << started.status();
    server = *std::move(started);
    server->SetServing(true);
    tcp = server->addresses()[1];
  }
  ~Service() {
    bench.pipeline->Abort("test over");
    server->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(2));
    ::rmdir(directory.c_str());
  }

  AdminHandlers Admin() {
    return {.read_status = [](v1::Status* s) { s->set_version("test"); },
            .quarantine =
                [this](const std::string& device, const std::string& reason,
                       const AdminHandlers::Done& done) {
                  orders.push_back("quarantine " + device + ": " + reason);
                  done(device == "cuda:0" ? absl::OkStatus() : absl::NotFoundError("no " + device));
                },
            .resume =
                [this](const std::string& device, const AdminHandlers::Done& done) {
                  orders.push_back("resume " + device);
                  done(absl::OkStatus());
                },
            .drain =
                [this](const AdminHandlers::Done& done) {
                  orders.push_back("drain");
                  done(absl::OkStatus());
                }};
  }

  pipeline::Bench bench;
  std::vector<std::string> orders;  // of one caller at a time
  RpcCounters rpcs;
  std::string directory, socket, tcp;
  std::unique_ptr<Server> server;
};

inline v1::ScanRequest Options(bool show_secrets = false) {
  v1::ScanRequest request;
  request.mutable_options()->set_show_secrets(show_secrets);
  return request;
}

inline v1::ScanRequest OneChunk(uint64_t id, const std::string& path, uint64_t offset,
                                const std::string& data, bool last) {
  v1::ScanRequest request;
  v1::Chunk* chunk = request.mutable_chunks()->add_chunks();
  chunk->set_blob_id(id);
  chunk->set_path(path);
  chunk->set_offset(offset);
  chunk->set_data(data);
  chunk->set_last(last);
  return request;
}

struct Outcome {
  grpc::Status status;
  std::vector<v1::BlobResult> blobs;
  std::optional<v1::Summary> summary;
};

// Reads to the end.
inline Outcome Finish(ScanCall& call) {
  Outcome outcome;
  v1::ScanReply reply;
  while (call.Read(&reply)) {
    if (reply.has_blob()) outcome.blobs.push_back(reply.blob());
    if (reply.has_summary()) outcome.summary = reply.summary();
  }
  outcome.status = call.Finish();
  return outcome;
}

// One scan of `requests` after the options.
inline Outcome Scan(const std::string& address, const std::vector<v1::ScanRequest>& requests,
                    bool show_secrets = false) {
  const auto stub = v1::ScanService::NewStub(Dial(address));
  grpc::ClientContext context;
  const auto call = stub->Scan(&context);
  bool open = call->Write(Options(show_secrets));
  for (size_t i = 0; open && i < requests.size(); ++i) open = call->Write(requests[i]);
  call->WritesDone();
  return Finish(*call);
}

// The detail of this type, if the status has one.
template <typename Detail>
std::optional<Detail> DetailOf(const grpc::Status& status) {
  google::rpc::Status whole;
  if (!whole.ParseFromString(status.error_details())) return std::nullopt;
  for (const auto& any : whole.details()) {
    Detail detail;
    if (any.UnpackTo(&detail)) return detail;
  }
  return std::nullopt;
}

}  // namespace keysieve::transport
