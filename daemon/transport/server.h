// SPDX-License-Identifier: MIT
// The gRPC server with its listeners. Two servers share one pipeline: one for the daemon's own
// user, reached through its Unix socket alone, and one for everybody else. Both speak health
// checking and reflection.
#pragma once

#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "daemon/config/values.h"
#include "daemon/transport/services.h"
#include "daemon/transport/unix_listener.h"

namespace keysieve::transport {

class Server {
 public:
  // ALREADY_EXISTS or UNAVAILABLE names the address. References outlive the server.
  static absl::StatusOr<std::unique_ptr<Server>> Start(const std::vector<config::Address>& listen,
                                                       pipeline::ScanPipeline& pipeline,
                                                       AdminServiceImpl::StatusReader status,
                                                       RpcCounters& counters);
  ~Server();

  // As they are: a port of 0 has become the one the system chose.
  const std::vector<std::string>& addresses() const { return addresses_; }
  // What the health service says.
  void SetServing(bool serving);
  // Accepts no more, waits for calls until the deadline, cancels the rest. Safe to call twice.
  void Shutdown(std::chrono::system_clock::time_point deadline);

 private:
  Server(pipeline::ScanPipeline& pipeline, AdminServiceImpl::StatusReader status,
         RpcCounters& counters);
  std::unique_ptr<grpc::ServerBuilder> Builder(ScanServiceImpl& service);
  void Accept(int fd, uid_t uid);

  ScanServiceImpl owner_service_;
  ScanServiceImpl other_service_;
  AdminServiceImpl admin_service_;
  std::vector<std::string> addresses_;
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> owner_acceptor_;
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> other_acceptor_;
  std::unique_ptr<grpc::Server> owner_server_;
  std::unique_ptr<grpc::Server> other_server_;
  std::vector<std::unique_ptr<UnixListener>> unix_listeners_;  // stop before the servers do
};

}  // namespace keysieve::transport
