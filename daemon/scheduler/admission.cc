// SPDX-License-Identifier: MIT
// First come, first served memory; see admission.h.
#include "daemon/scheduler/admission.h"

#include <algorithm>

#include "evidence/base/status.h"

namespace keysieve::scheduler {

Reservation& Reservation::operator=(Reservation&& other) noexcept {
  if (this != &other) {
    Reservation old(std::move(*this));
    admission_ = std::move(other.admission_);
    bytes_ = std::exchange(other.bytes_, 0);
  }
  return *this;
}

Reservation::~Reservation() {
  if (admission_ != nullptr) admission_->Release(bytes_);
}

void Reservation::Shrink(uint64_t bytes) {
  if (admission_ == nullptr || bytes >= bytes_) return;
  admission_->Release(bytes_ - bytes);
  bytes_ = bytes;
}

Admission::Admission(uint64_t limit_bytes, Executor executor)
    : limit_(limit_bytes), executor_(std::move(executor)) {}

absl::StatusOr<Admission::Answer> Admission::Reserve(uint64_t bytes, Granted later) {
  if (bytes > limit_) {
    return absl::ResourceExhaustedError(Cat("a reservation of ", bytes, " bytes exceeds the ",
                                            limit_, " bytes of blob memory (limits.memory_bytes)"));
  }
  MutexLock lock(mutex_);
  Answer answer;
  if (waiters_.empty() && in_use_ + bytes <= limit_) {
    in_use_ += bytes;
    answer.now = Reservation(shared_from_this(), bytes);
    return answer;
  }
  answer.ticket = next_ticket_++;
  waiters_.push_back({answer.ticket, bytes, std::move(later)});
  return answer;
}

bool Admission::Cancel(uint64_t ticket) {
  std::deque<Waiter> ready;
  Granted dropped;  // its captures die outside the lock
  {
    MutexLock lock(mutex_);
    const auto it = std::find_if(waiters_.begin(), waiters_.end(),
                                 [ticket](const Waiter& w) { return w.ticket == ticket; });
    if (it == waiters_.end()) return false;
    dropped = std::move(it->granted);
    waiters_.erase(it);
    GrantWaiters(ready);  // the one that left may have held up those behind it
  }
  Deliver(std::move(ready));
  return true;
}

uint64_t Admission::in_use_bytes() const {
  MutexLock lock(mutex_);
  return in_use_;
}

size_t Admission::waiting() const {
  MutexLock lock(mutex_);
  return waiters_.size();
}

void Admission::Release(uint64_t bytes) {
  std::deque<Waiter> ready;
  {
    MutexLock lock(mutex_);
    in_use_ -= bytes;
    GrantWaiters(ready);
  }
  Deliver(std::move(ready));
}

void Admission::GrantWaiters(std::deque<Waiter>& ready) {
  while (!waiters_.empty() && in_use_ + waiters_.front().bytes <= limit_) {
    in_use_ += waiters_.front().bytes;
    ready.push_back(std::move(waiters_.front()));
    waiters_.pop_front();
  }
}

void Admission::Deliver(std::deque<Waiter> ready) {
  for (Waiter& waiter : ready) {
    // Shared, for std::function copies what it captures.
    auto grant = std::make_shared<Reservation>(Reservation(shared_from_this(), waiter.bytes));
    executor_([granted = std::move(waiter.granted), grant] { granted(std::move(*grant)); });
  }
}

}  // namespace keysieve::scheduler
