// SPDX-License-Identifier: MIT
// Sockets from addresses; see bind.h.
#include "daemon/transport/bind.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "evidence/base/status.h"

namespace keysieve::transport {
namespace {

constexpr int kBacklog = 1024;
constexpr unsigned kUnansweredMs = 20000;  // sent bytes nobody acknowledges: the peer is gone

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

// The addresses of a host's name, freed at the end.
class Resolved {
 public:
  explicit Resolved(const config::Address& address) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_PASSIVE;
    error_ =
        ::getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &list_);
  }
  ~Resolved() {
    if (list_ != nullptr) ::freeaddrinfo(list_);
  }
  Resolved(const Resolved&) = delete;
  Resolved& operator=(const Resolved&) = delete;
  int error() const { return error_; }
  const addrinfo* first() const { return list_; }

 private:
  addrinfo* list_ = nullptr;
  int error_ = 0;
};

uint16_t& PortOf(sockaddr_storage& address) {
  return address.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(address).sin6_port
                                       : reinterpret_cast<sockaddr_in&>(address).sin_port;
}

// What accepted connections inherit: small replies leave at once, vanished peers are noticed.
void Tune(int fd) {
  const int on = 1;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  ::setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &kUnansweredMs, sizeof(kUnansweredMs));
}

// A socket on one address with `port`, in network order; -1 and errno if that cannot be.
int ListenOn(const addrinfo& info, uint16_t port) {
  sockaddr_storage address{};
  std::memcpy(&address, info.ai_addr, info.ai_addrlen);
  PortOf(address) = port;
  const int fd = ::socket(info.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -1;
  Tune(fd);
  // "[::]" takes IPv4 too; a name's IPv6 address stands beside its IPv4 one.
  const auto* v6 = reinterpret_cast<const sockaddr_in6*>(&address);
  const int only = info.ai_family == AF_INET6 && !IN6_IS_ADDR_UNSPECIFIED(&v6->sin6_addr) ? 1 : 0;
  if (info.ai_family == AF_INET6) {
    ::setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &only, sizeof(only));
  }
  if (::bind(fd, reinterpret_cast<const sockaddr*>(&address), info.ai_addrlen) == 0 &&
      ::listen(fd, kBacklog) == 0) {
    return fd;
  }
  const int error = errno;
  ::close(fd);
  errno = error;
  return -1;
}

uint16_t BoundPort(int fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  return PortOf(address);
}

}  // namespace

absl::StatusOr<HandedSocket> BindUnix(const config::Address& address) {
  const std::string& path = address.path;
  KS_RETURN_IF_ERROR(PrepareFolder(path));
  KS_RETURN_IF_ERROR(RemoveStale(path));
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return absl::UnavailableError(Cat("cannot open a socket: ", Reason()));
  const sockaddr_un name = AddressOf(path);
  // Bound, but refused to everyone until its mode is set: connecting needs listen().
  if (::bind(fd, reinterpret_cast<const sockaddr*>(&name), sizeof(name)) != 0 ||
      ::chmod(path.c_str(), 0600) != 0 || ::listen(fd, kBacklog) != 0) {
    const absl::Status status =
        absl::UnavailableError(Cat("cannot listen on ", path, ": ", Reason()));
    ::close(fd);
    return status;
  }
  return HandedSocket{address.ToString(), address.ToString(), {fd}};
}

absl::StatusOr<HandedSocket> BindTcp(const config::Address& address) {
  const Resolved resolved(address);
  if (resolved.error() != 0) {
    return absl::UnavailableError(Cat("cannot listen on ", address.ToString(), ": ", address.host,
                                      ": ", ::gai_strerror(resolved.error())));
  }
  HandedSocket socket{address.ToString(), "", {}};
  uint16_t port = htons(address.port);
  std::string why = "it has no address";
  for (const addrinfo* info = resolved.first(); info != nullptr; info = info->ai_next) {
    const int fd = ListenOn(*info, port);
    if (fd >= 0) {
      socket.fds.push_back(fd);
      port = BoundPort(fd);
      continue;
    }
    why = Reason();
    // Without IPv6 a name may still resolve to it; any other failure would leave half a listener.
    if (errno == EADDRNOTAVAIL || errno == EAFNOSUPPORT) continue;
    for (const int open : socket.fds) ::close(open);
    socket.fds.clear();
    break;
  }
  if (socket.fds.empty()) {
    return absl::UnavailableError(Cat("cannot listen on ", address.ToString(), ": ", why));
  }
  config::Address bound = address;
  bound.port = ntohs(port);
  socket.address = bound.ToString();
  return socket;
}

}  // namespace keysieve::transport
