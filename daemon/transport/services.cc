// SPDX-License-Identifier: MIT
// Calls become reactors; see services.h.
#include "daemon/transport/services.h"

#include "daemon/transport/stream_reactor.h"

namespace keysieve::transport {

ScanServiceImpl::ScanServiceImpl(pipeline::ScanPipeline& pipeline, RpcCounters& counters,
                                 pipeline::Caller caller)
    : pipeline_(pipeline), counters_(counters), caller_(std::move(caller)) {}

pipeline::Caller ScanServiceImpl::CallerOf(const grpc::CallbackServerContext& context) const {
  pipeline::Caller caller = caller_;
  caller.peer = context.peer();
  if (caller.peer.empty()) caller.peer = "unix:";
  return caller;
}

grpc::ServerBidiReactor<v1::ScanRequest, v1::ScanReply>* ScanServiceImpl::Scan(
    grpc::CallbackServerContext* context) {
  using Reactor = StreamReactor<v1::ScanRequest, v1::ScanReply>;
  auto reactor = std::make_shared<Reactor>(context, counters_,
                                           RpcCounters::Method{"keysieve.v1.ScanService", "Scan"});
  reactor->Begin(reactor, pipeline_, CallerOf(*context));
  return reactor.get();
}

grpc::ServerBidiReactor<v1::MatchRequest, v1::MatchReply>* ScanServiceImpl::Match(
    grpc::CallbackServerContext* context) {
  using Reactor = StreamReactor<v1::MatchRequest, v1::MatchReply>;
  auto reactor = std::make_shared<Reactor>(context, counters_,
                                           RpcCounters::Method{"keysieve.v1.ScanService", "Match"});
  reactor->Begin(reactor, pipeline_, CallerOf(*context));
  return reactor.get();
}

AdminServiceImpl::AdminServiceImpl(StatusReader reader, RpcCounters& counters)
    : reader_(std::move(reader)), counters_(counters) {}

grpc::ServerUnaryReactor* AdminServiceImpl::GetStatus(grpc::CallbackServerContext* context,
                                                      const v1::GetStatusRequest*,
                                                      v1::Status* reply) {
  const RpcCounters::Method method{"keysieve.v1.AdminService", "GetStatus"};
  counters_.Started(method);
  const auto began = std::chrono::steady_clock::now();
  reader_(reply);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  counters_.Handled(method, "OK", took.count());
  auto* reactor = context->DefaultReactor();
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

}  // namespace keysieve::transport
