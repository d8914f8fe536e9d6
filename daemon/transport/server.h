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
#include "daemon/transport/listener.h"
#include "daemon/transport/services.h"

namespace keysieve::transport {

class Server {
 public:
  // Of `handed`, sockets for addresses that are listened on are taken over, the others closed.
  // ALREADY_EXISTS or UNAVAILABLE names the address. References outlive the server.
  static absl::StatusOr<std::unique_ptr<Server>> Start(const std::vector<config::Address>& listen,
                                                       pipeline::ScanPipeline& pipeline,
                                                       AdminHandlers admin, RpcCounters& counters,
                                                       std::vector<HandedSocket> handed = {});
  ~Server();

  // As they are: a port of 0 has become the one the system chose.
  const std::vector<std::string>& addresses() const { return addresses_; }
  // What the health service says of the scan service, and of the accelerators: whether scans take
  // the route the settings ask for. Cheap; tells watchers only what changed.
  void SetServing(bool serving);
  void SetAccelerated(bool accelerated);
  // Accepts no more connections and gives the sockets away, listening still. Calls go on.
  std::vector<HandedSocket> HandOver();
  // Accepts no more, waits for calls until the deadline, cancels the rest. Safe to call twice.
  void Shutdown(std::chrono::system_clock::time_point deadline);

 private:
  Server(pipeline::ScanPipeline& pipeline, AdminHandlers admin, RpcCounters& counters);
  absl::Status Listen(const std::vector<config::Address>& listen, std::vector<HandedSocket> handed);
  std::unique_ptr<grpc::ServerBuilder> Builder(ScanServiceImpl& service, AdminServiceImpl& admin);
  void Accept(int fd, std::optional<uid_t> uid);
  void SetHealth(const std::string& name, bool good);

  ScanServiceImpl owner_service_;
  ScanServiceImpl other_service_;
  AdminServiceImpl owner_admin_;
  AdminServiceImpl other_admin_;
  std::vector<std::string> addresses_;
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> owner_acceptor_;
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> other_acceptor_;
  std::unique_ptr<grpc::Server> owner_server_;
  std::unique_ptr<grpc::Server> other_server_;
  std::vector<std::unique_ptr<Listener>> listeners_;  // stop before the servers do
};

}  // namespace keysieve::transport
