// SPDX-License-Identifier: MIT
// What a process leaves to the program that takes its place by exec: sockets that go on listening,
// and how often this has happened. It travels in the environment, names the process it is meant
// for, and is taken out of it by the first look.
//
//   Handover left{.restarts = 1, .sockets = server.HandOver()};
//   absl::Status failed = ExecInPlace(argv, left);       // returns only if it could not
//   ...
//   std::optional<Handover> found = TakeHandover();      // first thing in main()
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "daemon/transport/listener.h"

namespace keysieve::transport {

struct Handover {
  uint32_t restarts = 0;      // in place, one soon after the other
  std::string why;            // of the last one
  std::string admin_address;  // where metrics were served
  std::vector<HandedSocket> sockets;
};

// As text and back. INVALID_ARGUMENT for anything else.
std::string ToText(const Handover& handover);
absl::StatusOr<Handover> HandoverFromText(const std::string& text);

// What was left to this process, if anything was. Main thread, before there are others.
std::optional<Handover> TakeHandover();

// Runs this program's file anew with `argv` (ended by null) in this process: same process id, every
// descriptor closed but the standard ones and those handed over. INTERNAL if that failed: the
// process is as it was but for its descriptors, which stay marked.
absl::Status ExecInPlace(char* const* argv, const Handover& handover);

}  // namespace keysieve::transport
