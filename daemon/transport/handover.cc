// SPDX-License-Identifier: MIT
// Through the environment; see handover.h.
#include "daemon/transport/handover.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "evidence/base/status.h"

namespace keysieve::transport {
namespace {

using nlohmann::json;

constexpr char kVariable[] = "KEYSIEVE_HANDOVER";
constexpr char kOwnFile[] = "/proc/self/exe";

json ToJson(const HandedSocket& socket) {
  return {{"asked", socket.asked}, {"address", socket.address}, {"fds", socket.fds}};
}

// Everything but what is handed over ends with this program, whoever opened it.
void MarkDescriptors() {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", error)) {
    const std::string name = entry.path().filename();
    int fd = -1;
    std::from_chars(name.data(), name.data() + name.size(), fd);
    if (fd > 2) ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  }
}

}  // namespace

std::string ToText(const Handover& handover) {
  json sockets = json::array();
  for (const HandedSocket& socket : handover.sockets) sockets.push_back(ToJson(socket));
  return json{{"pid", ::getpid()},
              {"restarts", handover.restarts},
              {"why", handover.why},
              {"admin", handover.admin_address},
              {"sockets", std::move(sockets)}}
      .dump(-1, ' ', true, json::error_handler_t::replace);
}

absl::StatusOr<Handover> HandoverFromText(const std::string& text) {
  try {
    const json root = json::parse(text);
    if (root.at("pid").get<pid_t>() != ::getpid()) {
      return absl::InvalidArgumentError("it is meant for another process");
    }
    Handover handover;
    handover.restarts = root.at("restarts").get<uint32_t>();
    handover.why = root.at("why").get<std::string>();
    handover.admin_address = root.at("admin").get<std::string>();
    for (const json& socket : root.at("sockets")) {
      handover.sockets.push_back({socket.at("asked").get<std::string>(),
                                  socket.at("address").get<std::string>(),
                                  socket.at("fds").get<std::vector<int>>()});
    }
    return handover;
  } catch (const json::exception& error) {
    return absl::InvalidArgumentError(error.what());
  }
}

std::optional<Handover> TakeHandover() {
  const char* text = std::getenv(kVariable);
  if (text == nullptr) return std::nullopt;
  auto handover = HandoverFromText(text);
  ::unsetenv(kVariable);
  if (!handover.ok()) return std::nullopt;
  return *std::move(handover);
}

absl::Status ExecInPlace(char* const* argv, const Handover& handover) {
  MarkDescriptors();
  for (const HandedSocket& socket : handover.sockets) {
    for (const int fd : socket.fds) ::fcntl(fd, F_SETFD, 0);
  }
  ::setenv(kVariable, ToText(handover).c_str(), 1);
  ::execv(kOwnFile, argv);
  const int error = errno;
  ::unsetenv(kVariable);
  return absl::InternalError(Cat("cannot run ", kOwnFile, " anew: ", std::strerror(error)));
}

}  // namespace keysieve::transport
