// SPDX-License-Identifier: MIT
// Builders, listeners and the way down; see server.h.
#include "daemon/transport/server.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/security/server_credentials.h>
#include <unistd.h>

#include <thread>

#include "evidence/base/status.h"

namespace keysieve::transport {
namespace {

using ExternalType = grpc::ServerBuilder::experimental_type::ExternalConnectionType;

constexpr char kServices[][32] = {"keysieve.v1.ScanService", "keysieve.v1.AdminService"};

}  // namespace

Server::Server(pipeline::ScanPipeline& pipeline, AdminServiceImpl::StatusReader status,
               RpcCounters& counters)
    : owner_service_(pipeline, counters, {.owner = true}),
      other_service_(pipeline, counters,
                     {.owner = false, .why_not = "this call came over TCP or from another user"}),
      admin_service_(std::move(status), counters) {}

std::unique_ptr<grpc::ServerBuilder> Server::Builder(ScanServiceImpl& service) {
  auto builder = std::make_unique<grpc::ServerBuilder>();
  builder->SetMaxReceiveMessageSize(static_cast<int>(pipeline::kMaxMessageBytes));
  // With port sharing two daemons could take one address, each getting half of the calls.
  builder->AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 60000);  // finds peers that vanished
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 20000);
  builder->RegisterService(&service);
  builder->RegisterService(&admin_service_);
  return builder;
}

absl::StatusOr<std::unique_ptr<Server>> Server::Start(const std::vector<config::Address>& listen,
                                                      pipeline::ScanPipeline& pipeline,
                                                      AdminServiceImpl::StatusReader status,
                                                      RpcCounters& counters) {
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  std::unique_ptr<Server> server(new Server(pipeline, std::move(status), counters));
  auto owner = server->Builder(server->owner_service_);
  auto other = server->Builder(server->other_service_);
  std::vector<int> ports(listen.size(), 0);
  for (size_t i = 0; i < listen.size(); ++i) {
    if (listen[i].is_unix()) {
      KS_ASSIGN_OR_RETURN(auto listener, UnixListener::Bind(listen[i].path));
      server->unix_listeners_.push_back(std::move(listener));
    } else {
      other->AddListeningPort(listen[i].ToString(), grpc::InsecureServerCredentials(), &ports[i]);
    }
  }
  server->owner_acceptor_ = owner->experimental().AddExternalConnectionAcceptor(
      ExternalType::FROM_FD, grpc::InsecureServerCredentials());
  server->other_acceptor_ = other->experimental().AddExternalConnectionAcceptor(
      ExternalType::FROM_FD, grpc::InsecureServerCredentials());
  server->other_server_ = other->BuildAndStart();
  for (size_t i = 0; i < listen.size(); ++i) {
    config::Address bound = listen[i];
    if (!bound.is_unix() && (server->other_server_ == nullptr || ports[i] == 0)) {
      return absl::UnavailableError(
          Cat("cannot listen on ", bound.ToString(), ": the address is in use or not this host's"));
    }
    if (!bound.is_unix()) bound.port = static_cast<uint16_t>(ports[i]);
    server->addresses_.push_back(bound.ToString());
  }
  server->owner_server_ = owner->BuildAndStart();
  if (server->owner_server_ == nullptr || server->other_server_ == nullptr) {
    return absl::UnavailableError("the gRPC server did not start");
  }
  Server* self = server.get();
  for (const auto& listener : server->unix_listeners_) {
    listener->Start([self](int fd, uid_t uid) { self->Accept(fd, uid); });
  }
  return server;
}

Server::~Server() { Shutdown(std::chrono::system_clock::now()); }

// The daemon's own user gets the owner's server; root, whom no mode keeps out, gets the other one.
void Server::Accept(int fd, uid_t uid) {
  grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters connection;
  connection.fd = fd;
  (uid == ::geteuid() ? owner_acceptor_ : other_acceptor_)->HandleNewConnection(&connection);
}

void Server::SetServing(bool serving) {
  for (const auto* server : {owner_server_.get(), other_server_.get()}) {
    if (server == nullptr || server->GetHealthCheckService() == nullptr) continue;
    for (const char* service : kServices) {
      server->GetHealthCheckService()->SetServingStatus(service, serving);
    }
    server->GetHealthCheckService()->SetServingStatus(serving);
  }
}

void Server::Shutdown(std::chrono::system_clock::time_point deadline) {
  for (const auto& listener : unix_listeners_) listener->Stop();
  // Side by side: each may wait for connections that clients leave open until the deadline.
  std::thread owner([this, deadline] {
    if (owner_server_ != nullptr) owner_server_->Shutdown(deadline);
  });
  if (other_server_ != nullptr) other_server_->Shutdown(deadline);
  owner.join();
  owner_server_.reset();
  other_server_.reset();
  unix_listeners_.clear();
}

}  // namespace keysieve::transport
