// SPDX-License-Identifier: MIT
// The world a command runs in: where it prints, what standard input is, the environment. main()
// gives the process's own; tests give theirs.
#pragma once

#include <functional>
#include <ostream>

#include "daemon/client/interrupt.h"

namespace keysieve::client {

struct Console {
  std::ostream& out;
  std::ostream& err;
  int stdin_fd = 0;
  bool out_is_terminal = false;
  bool err_is_terminal = false;
  std::function<const char*(const char*)> getenv;
  Interrupt& interrupt;
};

}  // namespace keysieve::client
