// SPDX-License-Identifier: MIT
// The gRPC services. One ScanService object a listener, for the listener tells who calls: streams
// on the owner's listener may see secrets, others hear why not.
#pragma once

#include <keysieve/v1/admin.grpc.pb.h>
#include <keysieve/v1/scan.grpc.pb.h>

#include <functional>
#include <string>

#include "daemon/scan_pipeline.h"
#include "daemon/transport/rpc_counters.h"

namespace keysieve::transport {

class ScanServiceImpl final : public v1::ScanService::CallbackService {
 public:
  // References outlive the server. `caller` is the pattern for each stream's; its peer is filled
  // in.
  ScanServiceImpl(pipeline::ScanPipeline& pipeline, RpcCounters& counters, pipeline::Caller caller);

  grpc::ServerBidiReactor<v1::ScanRequest, v1::ScanReply>* Scan(
      grpc::CallbackServerContext* context) override;
  grpc::ServerBidiReactor<v1::MatchRequest, v1::MatchReply>* Match(
      grpc::CallbackServerContext* context) override;

 private:
  pipeline::Caller CallerOf(const grpc::CallbackServerContext& context) const;

  pipeline::ScanPipeline& pipeline_;
  RpcCounters& counters_;
  const pipeline::Caller caller_;
};

// What operators can ask for. Each is called on any thread and must not block.
struct AdminHandlers {
  using Done = std::function<void(absl::Status)>;  // exactly once, on any thread
  std::function<void(v1::Status*)> read_status;
  std::function<void(const std::string& device, const std::string& reason, Done)> quarantine;
  std::function<void(const std::string& device, Done)> resume;
  std::function<void(Done)> drain;
};

class AdminServiceImpl final : public v1::AdminService::CallbackService {
 public:
  // `owner`: callers on this listener are the daemon's own user, who alone may change anything.
  AdminServiceImpl(AdminHandlers handlers, RpcCounters& counters, bool owner);

  grpc::ServerUnaryReactor* GetStatus(grpc::CallbackServerContext* context,
                                      const v1::GetStatusRequest* request,
                                      v1::Status* reply) override;
  grpc::ServerUnaryReactor* QuarantineDevice(grpc::CallbackServerContext* context,
                                             const v1::QuarantineDeviceRequest* request,
                                             v1::Status* reply) override;
  grpc::ServerUnaryReactor* ResumeDevice(grpc::CallbackServerContext* context,
                                         const v1::ResumeDeviceRequest* request,
                                         v1::Status* reply) override;
  grpc::ServerUnaryReactor* Drain(grpc::CallbackServerContext* context,
                                  const v1::DrainRequest* request, v1::Status* reply) override;

 private:
  // Runs `order`, which calls what it is given; then the reply is the status after it.
  grpc::ServerUnaryReactor* Answer(grpc::CallbackServerContext* context, const char* method,
                                   v1::Status* reply,
                                   const std::function<void(AdminHandlers::Done)>& order);

  const AdminHandlers handlers_;
  RpcCounters& counters_;
  const bool owner_;
};

}  // namespace keysieve::transport
