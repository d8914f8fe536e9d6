// SPDX-License-Identifier: MIT
// Makes sockets that listen; Listener accepts from them.
#pragma once

#include "daemon/transport/listener.h"

namespace keysieve::transport {

// Mode 0600, its folder made with 0700 if it is missing; a stale socket is replaced. ALREADY_EXISTS
// if somebody listens there or the path is no socket; UNAVAILABLE otherwise.
absl::StatusOr<HandedSocket> BindUnix(const config::Address& address);

// On every address the host's name has ("localhost" may be two), all with the same port. "0.0.0.0"
// is every IPv4 address, "[::]" every one. UNAVAILABLE names the address and the reason.
absl::StatusOr<HandedSocket> BindTcp(const config::Address& address);

}  // namespace keysieve::transport
