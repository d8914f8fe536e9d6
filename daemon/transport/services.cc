// SPDX-License-Identifier: MIT
// Calls become reactors; see services.h.
#include "daemon/transport/services.h"

#include "daemon/transport/stream_reactor.h"
#include "daemon/transport/trace.h"
#include "evidence/base/status.h"

namespace keysieve::transport {
namespace {

absl::Status NotTheOwner() {
  return absl::PermissionDeniedError(
      "only the daemon's own user may change what it does, through its Unix socket; this call came "
      "over TCP or from another user");
}

std::string TraceIdOf(const grpc::CallbackServerContext& context) {
  const auto found = context.client_metadata().find("traceparent");
  if (found == context.client_metadata().end()) return "";
  return TraceId({found->second.data(), found->second.size()});
}

}  // namespace

ScanServiceImpl::ScanServiceImpl(pipeline::ScanPipeline& pipeline, RpcCounters& counters,
                                 pipeline::Caller caller)
    : pipeline_(pipeline), counters_(counters), caller_(std::move(caller)) {}

pipeline::Caller ScanServiceImpl::CallerOf(const grpc::CallbackServerContext& context) const {
  pipeline::Caller caller = caller_;
  caller.peer = context.peer();
  if (caller.peer.empty()) caller.peer = "unix:";
  caller.tenant = caller.owner ? "owner" : "anonymous";
  caller.trace_id = TraceIdOf(context);
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

AdminServiceImpl::AdminServiceImpl(AdminHandlers handlers, RpcCounters& counters, bool owner)
    : handlers_(std::move(handlers)), counters_(counters), owner_(owner) {}

grpc::ServerUnaryReactor* AdminServiceImpl::Answer(
    grpc::CallbackServerContext* context, const char* method_name, v1::Status* reply,
    const std::function<void(AdminHandlers::Done)>& order) {
  const RpcCounters::Method method{"keysieve.v1.AdminService", method_name};
  counters_.Started(method);
  auto* reactor = context->DefaultReactor();
  const auto began = std::chrono::steady_clock::now();
  order([this, method, began, reactor, reply](const absl::Status& status) {
    if (status.ok()) handlers_.read_status(reply);
    const grpc::Status answer =
        status.ok()
            ? grpc::Status::OK
            : ToGrpcStatus({.code = status.code(), .reason = "ADMIN", .message = Message(status)});
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    counters_.Handled(method, CodeName(answer.error_code()), took.count());
    reactor->Finish(answer);
  });
  return reactor;
}

grpc::ServerUnaryReactor* AdminServiceImpl::GetStatus(grpc::CallbackServerContext* context,
                                                      const v1::GetStatusRequest*,
                                                      v1::Status* reply) {
  return Answer(context, "GetStatus", reply,
                [](const AdminHandlers::Done& done) { done(absl::OkStatus()); });
}

grpc::ServerUnaryReactor* AdminServiceImpl::QuarantineDevice(
    grpc::CallbackServerContext* context, const v1::QuarantineDeviceRequest* request,
    v1::Status* reply) {
  return Answer(context, "QuarantineDevice", reply, [&](AdminHandlers::Done done) {
    if (!owner_) return done(NotTheOwner());
    const std::string by = "quarantined by an operator";
    handlers_.quarantine(request->device(),
                         request->reason().empty() ? by : Cat(by, ": ", request->reason()),
                         std::move(done));
  });
}

grpc::ServerUnaryReactor* AdminServiceImpl::ResumeDevice(grpc::CallbackServerContext* context,
                                                         const v1::ResumeDeviceRequest* request,
                                                         v1::Status* reply) {
  return Answer(context, "ResumeDevice", reply, [&](AdminHandlers::Done done) {
    owner_ ? handlers_.resume(request->device(), std::move(done)) : done(NotTheOwner());
  });
}

grpc::ServerUnaryReactor* AdminServiceImpl::Drain(grpc::CallbackServerContext* context,
                                                  const v1::DrainRequest*, v1::Status* reply) {
  return Answer(context, "Drain", reply, [&](AdminHandlers::Done done) {
    owner_ ? handlers_.drain(std::move(done)) : done(NotTheOwner());
  });
}

}  // namespace keysieve::transport
