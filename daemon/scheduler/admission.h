// SPDX-License-Identifier: MIT
// The bound on blob memory. A blob's whole size is reserved before its second chunk is read, in
// order of arrival: a large blob waits its turn and nobody overtakes it, so it cannot starve. A
// stream holds one incomplete blob, and complete ones always get scanned and freed, so waiting
// ends.
//
//   auto answer = admission.Reserve(size, [](Reservation r) { ... });   // later, by the executor
//   if (answer->now.held()) ...                                         // at once
//
// Thread-safe; always in a shared_ptr, which its reservations share.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "evidence/base/mutex.h"

namespace keysieve::scheduler {

class Admission;

// Bytes set aside; given back on destruction.
class Reservation {
 public:
  Reservation() = default;
  Reservation(Reservation&& other) noexcept
      : admission_(std::move(other.admission_)), bytes_(std::exchange(other.bytes_, 0)) {}
  Reservation& operator=(Reservation&& other) noexcept;
  ~Reservation();

  bool held() const { return admission_ != nullptr; }
  uint64_t bytes() const { return bytes_; }
  // Gives back all but `bytes`; more than is held changes nothing.
  void Shrink(uint64_t bytes);

 private:
  friend class Admission;
  Reservation(std::shared_ptr<Admission> admission, uint64_t bytes)
      : admission_(std::move(admission)), bytes_(bytes) {}

  std::shared_ptr<Admission> admission_;
  uint64_t bytes_ = 0;
};

class Admission : public std::enable_shared_from_this<Admission> {
 public:
  // Runs a task soon, on another stack: grants never run inside the release that made room.
  using Executor = std::function<void(std::function<void()>)>;
  using Granted = std::function<void(Reservation)>;

  struct Answer {
    Reservation now;      // held: granted at once, and `later` will not be called
    uint64_t ticket = 0;  // else: names the place in the queue
  };

  Admission(uint64_t limit_bytes, Executor executor);

  // RESOURCE_EXHAUSTED for more than the limit, which can never be granted.
  absl::StatusOr<Answer> Reserve(uint64_t bytes, Granted later);
  // True: the ticket left the queue and will not be granted. False: its grant is under way.
  bool Cancel(uint64_t ticket);

  uint64_t limit_bytes() const { return limit_; }
  uint64_t in_use_bytes() const;
  size_t waiting() const;

 private:
  friend class Reservation;
  struct Waiter {
    uint64_t ticket;
    uint64_t bytes;
    Granted granted;
  };

  void Release(uint64_t bytes);
  void GrantWaiters(std::deque<Waiter>& ready) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Deliver(std::deque<Waiter> ready);

  const uint64_t limit_;
  const Executor executor_;
  mutable Mutex mutex_;
  uint64_t in_use_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t next_ticket_ ABSL_GUARDED_BY(mutex_) = 1;
  std::deque<Waiter> waiters_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace keysieve::scheduler
