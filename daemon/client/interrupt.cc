// SPDX-License-Identifier: MIT
// Signals are read from a descriptor by a thread of their own, so no code runs in a signal handler.
#include "daemon/client/interrupt.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <utility>

namespace keysieve::client {
namespace {

sigset_t StopSignals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  return set;
}

void WatchSignals(Interrupt& interrupt, int signal_fd, int wake_fd) {
  pollfd fds[2] = {{signal_fd, POLLIN, 0}, {wake_fd, POLLIN, 0}};
  while (poll(fds, 2, -1) < 0) {
  }
  if (fds[0].revents & POLLIN) {
    // Taken before the signals are let through again: a pending one would end the process.
    signalfd_siginfo info;
    (void)!read(signal_fd, &info, sizeof(info));
    const sigset_t set = StopSignals();
    pthread_sigmask(SIG_UNBLOCK, &set, nullptr);  // a second signal waits for no cancellation
    interrupt.Trigger();
    while (poll(&fds[1], 1, -1) < 0) {
    }
  }
  close(signal_fd);
}

}  // namespace

void Interrupt::Trigger() {
  MutexLock lock(mutex_);
  if (triggered_) return;
  triggered_ = true;
  // Under the lock, so that a registration's end can wait for its action.
  for (auto& [id, action] : actions_) action();
  changed_.NotifyAll();
}

bool Interrupt::triggered() const {
  MutexLock lock(mutex_);
  return triggered_;
}

bool Interrupt::WaitFor(std::chrono::milliseconds duration) {
  const auto deadline = std::chrono::steady_clock::now() + duration;
  MutexLock lock(mutex_);
  while (!triggered_) {
    if (!changed_.WaitUntil(mutex_, deadline)) break;
  }
  return triggered_;
}

Interrupt::Registration Interrupt::OnTrigger(std::function<void()> action) {
  MutexLock lock(mutex_);
  const uint64_t id = next_id_++;
  if (triggered_) action();
  actions_.emplace(id, std::move(action));
  return Registration(*this, id);
}

Interrupt::Registration::~Registration() {
  MutexLock lock(interrupt_.mutex_);
  interrupt_.actions_.erase(id_);
}

SignalWatch::SignalWatch(Interrupt& interrupt) {
  const sigset_t set = StopSignals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  const int signal_fd = signalfd(-1, &set, SFD_CLOEXEC);
  if (signal_fd < 0 || pipe(wake_fds_) != 0) {
    pthread_sigmask(SIG_UNBLOCK, &set,
                    nullptr);  // the signals keep their default: the process ends
    return;
  }
  thread_ = std::thread(
      [&interrupt, signal_fd, wake = wake_fds_[0]] { WatchSignals(interrupt, signal_fd, wake); });
}

SignalWatch::~SignalWatch() {
  if (!thread_.joinable()) return;
  close(wake_fds_[1]);
  thread_.join();
  close(wake_fds_[0]);
}

}  // namespace keysieve::client
