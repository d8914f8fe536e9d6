// SPDX-License-Identifier: MIT
// A Unix socket of our own: 0600 in a directory of 0700, a stale one replaced only if nobody
// answers. Accepts connections itself, since only then can the kernel be asked whose they are, and
// hands each descriptor on.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "absl/status/statusor.h"

namespace keysieve::transport {

class UnixListener {
 public:
  // Takes the descriptor over. `uid` is the caller's, by SO_PEERCRED. Called on the accept thread.
  using OnConnection = std::function<void(int fd, uid_t uid)>;

  // ALREADY_EXISTS if somebody listens there; UNAVAILABLE names the path and the system's reason.
  static absl::StatusOr<std::unique_ptr<UnixListener>> Bind(const std::string& path);
  // Stops, and unlinks the path if it is still ours.
  ~UnixListener();

  void Start(OnConnection on_connection);
  // Accepts no more. Safe to call twice.
  void Stop();
  const std::string& path() const { return path_; }

 private:
  UnixListener(std::string path, int fd, int stop_read, int stop_write);
  void Run();

  const std::string path_;
  const int fd_;
  const int stop_read_;
  const int stop_write_;
  ino_t inode_ = 0;
  OnConnection on_connection_;
  std::thread thread_;
};

}  // namespace keysieve::transport
