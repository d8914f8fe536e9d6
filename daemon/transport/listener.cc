// SPDX-License-Identifier: MIT
// Accepting, asking the kernel who called, and handing over; see listener.h. Binding is in bind.cc.
#include "daemon/transport/listener.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "daemon/transport/bind.h"
#include "evidence/base/status.h"

namespace keysieve::transport {
namespace {

bool Listens(int fd) {
  int listening = 0;
  socklen_t size = sizeof(listening);
  return ::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &size) == 0 && listening == 1;
}

void CloseAll(const std::vector<int>& fds) {
  for (const int fd : fds) ::close(fd);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Listener>> Listener::Bind(const config::Address& address) {
  KS_ASSIGN_OR_RETURN(HandedSocket socket,
                      address.is_unix() ? BindUnix(address) : BindTcp(address));
  return Adopt(std::move(socket));
}

absl::StatusOr<std::unique_ptr<Listener>> Listener::Adopt(HandedSocket socket) {
  for (const int fd : socket.fds) {
    if (Listens(fd)) continue;
    CloseAll(socket.fds);
    return absl::InvalidArgumentError(
        Cat("descriptor ", fd, ", handed over as ", socket.address, ", does not listen"));
  }
  for (const int fd : socket.fds) {
    ::fcntl(fd, F_SETFD, FD_CLOEXEC);
    ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
  }
  std::unique_ptr<Listener> listener(new Listener(std::move(socket)));
  KS_RETURN_IF_ERROR(listener->Prepare());
  return listener;
}

Listener::Listener(HandedSocket socket) : socket_(std::move(socket)) {
  const auto address = config::ParseAddress(socket_.address);
  if (address.ok()) path_ = address->path;
}

absl::Status Listener::Prepare() {
  int pipe[2] = {-1, -1};
  if (::pipe2(pipe, O_CLOEXEC) != 0) {
    return absl::UnavailableError(
        Cat("cannot listen on ", socket_.address, ": ", std::strerror(errno)));
  }
  stop_read_ = pipe[0];
  stop_write_ = pipe[1];
  struct stat info {};
  if (is_unix() && ::stat(path_.c_str(), &info) == 0) inode_ = info.st_ino;
  return absl::OkStatus();
}

Listener::~Listener() {
  Stop();
  struct stat info {};
  const bool ours = is_unix() && !socket_.fds.empty() && ::stat(path_.c_str(), &info) == 0 &&
                    info.st_ino == inode_;
  if (ours) ::unlink(path_.c_str());
  CloseAll(socket_.fds);
  if (stop_read_ >= 0) CloseAll({stop_read_, stop_write_});
}

void Listener::Start(OnConnection on_connection) {
  on_connection_ = std::move(on_connection);
  thread_ = std::thread([this] { Run(); });
}

void Listener::Stop() {
  if (!thread_.joinable()) return;
  [[maybe_unused]] const ssize_t n = ::write(stop_write_, "x", 1);
  thread_.join();
}

HandedSocket Listener::HandOver() {
  Stop();
  HandedSocket socket = socket_;
  socket_.fds.clear();
  return socket;
}

void Listener::Run() {
  std::vector<pollfd> fds = {{.fd = stop_read_, .events = POLLIN}};
  for (const int fd : socket_.fds) fds.push_back({.fd = fd, .events = POLLIN});
  for (;;) {
    if (::poll(fds.data(), fds.size(), -1) < 0 && errno != EINTR) return;
    if (fds[0].revents != 0) return;
    for (size_t i = 1; i < fds.size(); ++i) {
      if (fds[i].revents != 0) AcceptFrom(fds[i].fd);
    }
  }
}

void Listener::AcceptFrom(int fd) {
  const int connection = ::accept4(fd, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (connection < 0) {
    // Out of descriptors: those in use will be given back; do not spin meanwhile.
    if (errno == EMFILE || errno == ENFILE) ::poll(nullptr, 0, 50);
    return;
  }
  if (!is_unix()) return on_connection_(connection, std::nullopt);
  ucred peer{};
  socklen_t size = sizeof(peer);
  if (::getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
    ::close(connection);
    return;
  }
  on_connection_(connection, peer.uid);
}

}  // namespace keysieve::transport
