// SPDX-License-Identifier: MIT
// Listening sockets of our own, on Unix paths and TCP ports. A Unix socket is 0600 in a directory
// of 0700, a stale one replaced only if nobody answers; only whoever accepts a connection himself
// can ask the kernel whose it is. And only a socket of our own can be handed to a program that
// takes this one's place.
//
//   auto listener = *Listener::Bind(*config::ParseAddress("127.0.0.1:0"));
//   listener->Start([](int fd, std::optional<uid_t> uid) { ... });
//   HandedSocket handed = listener->HandOver();   // accepts no more; still listening
//   auto again = *Listener::Adopt(handed);        // here or in the program exec'd
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "daemon/config/values.h"

namespace keysieve::transport {

// A socket that listens and that nobody accepts from at the moment; its queue keeps filling.
struct HandedSocket {
  std::string asked;     // the address of the settings, "127.0.0.1:0"
  std::string address;   // the one it has, "127.0.0.1:40321"
  std::vector<int> fds;  // one, or one for each address of the host's name
};

class Listener {
 public:
  // Takes the descriptor over; it does not block. `uid`: the caller's, on a Unix socket. Called on
  // the accept thread.
  using OnConnection = std::function<void(int fd, std::optional<uid_t> uid)>;

  // ALREADY_EXISTS if somebody listens on the path; UNAVAILABLE names the address and the system's
  // reason.
  static absl::StatusOr<std::unique_ptr<Listener>> Bind(const config::Address& address);
  // A socket that was handed over, whose descriptors it takes. INVALID_ARGUMENT, with the
  // descriptors closed, if one of them does not listen.
  static absl::StatusOr<std::unique_ptr<Listener>> Adopt(HandedSocket socket);
  // Stops, and unlinks a Unix path that is still ours.
  ~Listener();

  // Once.
  void Start(OnConnection on_connection);
  // Accepts no more. Safe to call twice.
  void Stop();
  // Stops and gives the descriptors away, the path left in place. Nothing may follow.
  HandedSocket HandOver();

  // As it is: a port of 0 has become the one the system chose.
  const std::string& address() const { return socket_.address; }

 private:
  explicit Listener(HandedSocket socket);
  absl::Status Prepare();
  void Run();
  void AcceptFrom(int fd);
  bool is_unix() const { return !path_.empty(); }

  HandedSocket socket_;
  std::string path_;  // of a Unix socket
  int stop_read_ = -1;
  int stop_write_ = -1;
  ino_t inode_ = 0;
  OnConnection on_connection_;
  std::thread thread_;
};

}  // namespace keysieve::transport
