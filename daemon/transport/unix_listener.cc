// SPDX-License-Identifier: MIT
// Binding, accepting and asking the kernel who called; see unix_listener.h.
#include "daemon/transport/unix_listener.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "evidence/base/status.h"

namespace keysieve::transport {
namespace {

std::string Reason() { return std::strerror(errno); }

sockaddr_un AddressOf(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  return address;
}

bool SomebodyListens(const std::string& path) {
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return true;
  const sockaddr_un address = AddressOf(path);
  const int result = ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  const bool refused = result != 0 && (errno == ECONNREFUSED || errno == ENOENT);
  ::close(fd);
  return !refused;
}

// The socket's own folder is made if it is missing; those above it are the operator's.
absl::Status PrepareFolder(const std::string& path) {
  const std::string folder = path.substr(0, path.rfind('/'));
  if (folder.empty() || ::mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST) {
    return absl::OkStatus();
  }
  return absl::UnavailableError(Cat("cannot create ", folder, ": ", Reason(),
                                    "; choose another socket with --listen unix:/path"));
}

absl::Status RemoveStale(const std::string& path) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) return absl::OkStatus();
  if (!S_ISSOCK(info.st_mode)) {
    return absl::AlreadyExistsError(Cat(path, " exists and is no socket"));
  }
  if (SomebodyListens(path)) {
    return absl::AlreadyExistsError(
        Cat("another process listens on ", path, "; stop it or choose another --listen"));
  }
  if (::unlink(path.c_str()) != 0) {
    return absl::UnavailableError(Cat("cannot remove the stale socket ", path, ": ", Reason()));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<UnixListener>> UnixListener::Bind(const std::string& path) {
  KS_RETURN_IF_ERROR(PrepareFolder(path));
  KS_RETURN_IF_ERROR(RemoveStale(path));
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return absl::UnavailableError(Cat("cannot open a socket: ", Reason()));
  const sockaddr_un address = AddressOf(path);
  // Bound, but refused to everyone until its mode is set: connecting needs listen().
  int pipe[2] = {-1, -1};
  if (::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
      ::chmod(path.c_str(), 0600) != 0 || ::listen(fd, 1024) != 0 ||
      ::pipe2(pipe, O_CLOEXEC) != 0) {
    const absl::Status status =
        absl::UnavailableError(Cat("cannot listen on ", path, ": ", Reason()));
    ::close(fd);
    return status;
  }
  return std::unique_ptr<UnixListener>(new UnixListener(path, fd, pipe[0], pipe[1]));
}

UnixListener::UnixListener(std::string path, int fd, int stop_read, int stop_write)
    : path_(std::move(path)), fd_(fd), stop_read_(stop_read), stop_write_(stop_write) {
  struct stat info {};
  if (::stat(path_.c_str(), &info) == 0) inode_ = info.st_ino;
}

UnixListener::~UnixListener() {
  Stop();
  struct stat info {};
  if (::stat(path_.c_str(), &info) == 0 && info.st_ino == inode_) ::unlink(path_.c_str());
  ::close(fd_);
  ::close(stop_read_);
  ::close(stop_write_);
}

void UnixListener::Start(OnConnection on_connection) {
  on_connection_ = std::move(on_connection);
  thread_ = std::thread([this] { Run(); });
}

void UnixListener::Stop() {
  if (!thread_.joinable()) return;
  [[maybe_unused]] const ssize_t n = ::write(stop_write_, "x", 1);
  thread_.join();
}

void UnixListener::Run() {
  for (;;) {
    pollfd fds[2] = {{.fd = fd_, .events = POLLIN}, {.fd = stop_read_, .events = POLLIN}};
    if (::poll(fds, 2, -1) < 0 && errno != EINTR) return;
    if (fds[1].revents != 0) return;
    if (fds[0].revents == 0) continue;
    const int connection = ::accept4(fd_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (connection < 0) {
      // Out of descriptors: those in use will be given back; do not spin meanwhile.
      if (errno == EMFILE || errno == ENFILE) ::poll(nullptr, 0, 50);
      continue;
    }
    ucred peer{};
    socklen_t size = sizeof(peer);
    if (::getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
      ::close(connection);
      continue;
    }
    on_connection_(connection, peer.uid);
  }
}

}  // namespace keysieve::transport
