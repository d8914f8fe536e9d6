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

class AdminServiceImpl final : public v1::AdminService::CallbackService {
 public:
  using StatusReader = std::function<void(v1::Status*)>;  // any thread
  AdminServiceImpl(StatusReader reader, RpcCounters& counters);

  grpc::ServerUnaryReactor* GetStatus(grpc::CallbackServerContext* context,
                                      const v1::GetStatusRequest* request,
                                      v1::Status* reply) override;

 private:
  const StatusReader reader_;
  RpcCounters& counters_;
};

}  // namespace keysieve::transport
