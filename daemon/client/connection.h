// SPDX-License-Identifier: MIT
// Where the daemon is, how to connect to it, and what its errors mean for the one who called.
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/support/status.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"

namespace keysieve::client {

struct ServerAddress {
  std::string target;  // as gRPC takes it
  std::string shown;   // as the caller wrote it
};

// `given` is unix:/path, a path that begins with a slash, host:port, or a gRPC target such as
// dns:///name:port. INVALID_ARGUMENT says which forms there are.
absl::StatusOr<ServerAddress> ParseServerAddress(const std::string& given);

// Without --server: $KEYSIEVE_SERVER, else the daemon's own socket where it is found: the one below
// $XDG_RUNTIME_DIR, else the system's. `getenv` is the environment.
std::string DefaultServer(const std::function<const char*(const char*)>& getenv);

// A connection of its own, shared with no other channel of the process. Replies may have any size:
// a blob's findings come together.
std::shared_ptr<grpc::Channel> Connect(const ServerAddress& server);

// The delay the daemon asks for with RESOURCE_EXHAUSTED, from the status details
// (google.rpc.RetryInfo). Nothing: it asks for none, and trying again would not help.
std::optional<std::chrono::milliseconds> RetryDelay(const grpc::Status& status);

// One sentence for people: what failed at which address, and what to do about it.
std::string Explain(const grpc::Status& status, const ServerAddress& server);

}  // namespace keysieve::client
