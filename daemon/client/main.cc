// SPDX-License-Identifier: MIT
// keysieve, the client program: prepares the process and hands over.
#include <malloc.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>

#include "daemon/client/commands.h"

int main(int argc, char** argv) {
  // Both, or neither: message buffers of a megabyte would else be mapped and unmapped one by one.
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  signal(SIGPIPE, SIG_IGN);
  keysieve::client::Interrupt interrupt;
  keysieve::client::SignalWatch signals(interrupt);
  keysieve::client::Console console{std::cout,
                                    std::cerr,
                                    STDIN_FILENO,
                                    isatty(STDOUT_FILENO) != 0,
                                    isatty(STDERR_FILENO) != 0,
                                    [](const char* name) { return std::getenv(name); },
                                    interrupt};
  return keysieve::client::RunClient(std::vector<std::string>(argv + 1, argv + argc), console);
}
