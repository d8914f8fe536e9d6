// SPDX-License-Identifier: MIT
// What gRPC's channels and status codes mean here; the only file that makes a channel.
#include "daemon/client/connection.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>
#include <sys/stat.h>

#include <cstdint>

#include "evidence/base/status.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

namespace keysieve::client {
namespace {

constexpr char kSystemSocket[] = "/run/keysieve/keysieve.sock";

bool IsPort(const std::string& text) {
  if (text.empty() || text.size() > 5) return false;
  if (text.find_first_not_of("0123456789") != std::string::npos) return false;
  const int port = std::stoi(text);
  return port >= 1 && port <= 65535;
}

bool SocketExists(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && S_ISSOCK(info.st_mode);
}

}  // namespace

absl::StatusOr<ServerAddress> ParseServerAddress(const std::string& given) {
  if (given.substr(0, 5) == "unix:" && given.size() > 5) return ServerAddress{given, given};
  if (given.substr(0, 1) == "/") return ServerAddress{"unix:" + given, "unix:" + given};
  for (const char* scheme : {"dns:", "ipv4:", "ipv6:"}) {
    if (given.rfind(scheme, 0) == 0) return ServerAddress{given, given};
  }
  const size_t colon = given.rfind(':');
  if (colon != std::string::npos && colon > 0 && IsPort(given.substr(colon + 1))) {
    return ServerAddress{given, given};
  }
  return absl::InvalidArgumentError(Cat("'", given,
                                        "' is no server address: give unix:/path/to/"
                                        "keysieve.sock or host:port"));
}

std::string DefaultServer(const std::function<const char*(const char*)>& getenv) {
  if (const char* server = getenv("KEYSIEVE_SERVER"); server != nullptr && *server != '\0') {
    return server;
  }
  const char* runtime = getenv("XDG_RUNTIME_DIR");
  if (runtime != nullptr && *runtime != '\0') {
    const std::string own = std::string(runtime) + "/keysieve/keysieve.sock";
    if (SocketExists(own) || !SocketExists(kSystemSocket)) return "unix:" + own;
  }
  return std::string("unix:") + kSystemSocket;
}

std::shared_ptr<grpc::Channel> Connect(const ServerAddress& server) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  // A proxy for the outside world is none for the daemon next door.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  return grpc::CreateCustomChannel(server.target, grpc::InsecureChannelCredentials(), arguments);
}

std::optional<std::chrono::milliseconds> RetryDelay(const grpc::Status& status) {
  google::rpc::Status details;
  if (!details.ParseFromString(status.error_details())) return std::nullopt;
  for (const google::protobuf::Any& detail : details.details()) {
    google::rpc::RetryInfo retry;
    if (!detail.UnpackTo(&retry)) continue;
    return std::chrono::milliseconds(retry.retry_delay().seconds() * 1000 +
                                     retry.retry_delay().nanos() / 1000000);
  }
  return std::nullopt;
}

std::string Explain(const grpc::Status& status, const ServerAddress& server) {
  const std::string& said = status.error_message();
  switch (status.error_code()) {
    case grpc::StatusCode::UNAVAILABLE:
      return Cat("no daemon answers at ", server.shown,
                 ": start keysieved, or name another with --server or KEYSIEVE_SERVER (", said,
                 ")");
    case grpc::StatusCode::RESOURCE_EXHAUSTED:
      return Cat("the daemon at ", server.shown, " has no room for this request: ", said);
    case grpc::StatusCode::UNIMPLEMENTED:
      return Cat("the daemon at ", server.shown, " does not know this request: ", said,
                 "; is it a keysieved of the same age?");
    default:
      return Cat("the daemon at ", server.shown, " refused or failed: ", said, " (code ",
                 static_cast<int>(status.error_code()), ")");
  }
}

}  // namespace keysieve::client
