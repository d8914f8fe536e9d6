// SPDX-License-Identifier: MIT
// Builders, listeners and the way down; see server.h.
#include "daemon/transport/server.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/security/server_credentials.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "evidence/base/status.h"

namespace keysieve::transport {
namespace {

using ExternalType = grpc::ServerBuilder::experimental_type::ExternalConnectionType;

// The largest message is one of options: baselines, rules and what is round them.
constexpr uint64_t kMaxRequestBytes =
    detect::suppress::kMaxIgnoreBytes + pipeline::kMaxRuleTextBytes + (1 << 20);

constexpr char kServices[][32] = {"keysieve.v1.ScanService", "keysieve.v1.AdminService"};
constexpr char kAccelerator[] = "keysieve.accelerator";

}  // namespace

Server::Server(pipeline::ScanPipeline& pipeline, AdminHandlers admin, RpcCounters& counters)
    : owner_service_(pipeline, counters, {.owner = true}),
      other_service_(pipeline, counters,
                     {.owner = false, .why_not = "this call came over TCP or from another user"}),
      owner_admin_(admin, counters, true),
      other_admin_(std::move(admin), counters, false) {}

std::unique_ptr<grpc::ServerBuilder> Server::Builder(ScanServiceImpl& service,
                                                     AdminServiceImpl& admin) {
  auto builder = std::make_unique<grpc::ServerBuilder>();
  builder->SetMaxReceiveMessageSize(static_cast<int>(kMaxRequestBytes));
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 60000);  // finds peers that vanished
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 20000);
  builder->RegisterService(&service);
  builder->RegisterService(&admin);
  return builder;
}

absl::StatusOr<std::unique_ptr<Server>> Server::Start(const std::vector<config::Address>& listen,
                                                      pipeline::ScanPipeline& pipeline,
                                                      AdminHandlers admin, RpcCounters& counters,
                                                      std::vector<HandedSocket> handed) {
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  std::unique_ptr<Server> server(new Server(pipeline, std::move(admin), counters));
  KS_RETURN_IF_ERROR(server->Listen(listen, std::move(handed)));
  auto owner = server->Builder(server->owner_service_, server->owner_admin_);
  auto other = server->Builder(server->other_service_, server->other_admin_);
  server->owner_acceptor_ = owner->experimental().AddExternalConnectionAcceptor(
      ExternalType::FROM_FD, grpc::InsecureServerCredentials());
  server->other_acceptor_ = other->experimental().AddExternalConnectionAcceptor(
      ExternalType::FROM_FD, grpc::InsecureServerCredentials());
  server->other_server_ = other->BuildAndStart();
  server->owner_server_ = owner->BuildAndStart();
  if (server->owner_server_ == nullptr || server->other_server_ == nullptr) {
    return absl::UnavailableError("the gRPC server did not start");
  }
  Server* self = server.get();
  for (const auto& listener : server->listeners_) {
    listener->Start([self](int fd, std::optional<uid_t> uid) { self->Accept(fd, uid); });
  }
  return server;
}

absl::Status Server::Listen(const std::vector<config::Address>& listen,
                            std::vector<HandedSocket> handed) {
  for (const config::Address& address : listen) {
    const auto left = std::find_if(handed.begin(), handed.end(), [&](const HandedSocket& socket) {
      return socket.asked == address.ToString();
    });
    if (left != handed.end()) {
      KS_ASSIGN_OR_RETURN(auto listener, Listener::Adopt(std::move(*left)));
      handed.erase(left);
      listeners_.push_back(std::move(listener));
    } else {
      KS_ASSIGN_OR_RETURN(auto listener, Listener::Bind(address));
      listeners_.push_back(std::move(listener));
    }
    addresses_.push_back(listeners_.back()->address());
  }
  for (HandedSocket& socket : handed) (void)Listener::Adopt(std::move(socket));  // to close it
  return absl::OkStatus();
}

Server::~Server() { Shutdown(std::chrono::system_clock::now()); }

// The daemon's own user gets the owner's server; root, whom no mode keeps out, gets the other one.
void Server::Accept(int fd, std::optional<uid_t> uid) {
  grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters connection;
  connection.fd = fd;
  (uid == ::geteuid() ? owner_acceptor_ : other_acceptor_)->HandleNewConnection(&connection);
}

void Server::SetHealth(const std::string& name, bool good) {
  for (const auto* server : {owner_server_.get(), other_server_.get()}) {
    if (server == nullptr || server->GetHealthCheckService() == nullptr) continue;
    server->GetHealthCheckService()->SetServingStatus(name, good);
  }
}

void Server::SetServing(bool serving) {
  for (const char* service : kServices) SetHealth(service, serving);
  SetHealth("", serving);
}

void Server::SetAccelerated(bool accelerated) { SetHealth(kAccelerator, accelerated); }

std::vector<HandedSocket> Server::HandOver() {
  std::vector<HandedSocket> sockets;
  for (const auto& listener : listeners_) sockets.push_back(listener->HandOver());
  listeners_.clear();
  return sockets;
}

void Server::Shutdown(std::chrono::system_clock::time_point deadline) {
  for (const auto& listener : listeners_) listener->Stop();
  // Side by side: each may wait for connections that clients leave open until the deadline.
  std::thread owner([this, deadline] {
    if (owner_server_ != nullptr) owner_server_->Shutdown(deadline);
  });
  if (other_server_ != nullptr) other_server_->Shutdown(deadline);
  owner.join();
  owner_server_.reset();
  other_server_.reset();
  listeners_.clear();
}

}  // namespace keysieve::transport
