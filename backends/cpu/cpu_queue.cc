// SPDX-License-Identifier: MIT
// The worker that runs submissions one after another.
#include "backends/cpu/cpu_queue.h"

#include <utility>

namespace keysieve::backends {
namespace {

uint64_t NanosecondsBetween(Clock::time_point from, Clock::time_point to) {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(to - from).count());
}

}  // namespace

CpuQueue::CpuQueue(uint32_t threads)
    : state_(std::make_shared<State>(threads)),
      threads_(state_->pool.threads()),
      worker_([state = state_] { Work(state); }) {}

CpuQueue::~CpuQueue() {
  {
    MutexLock lock(state_->mutex);
    state_->stopping = true;
    state_->queued.NotifyAll();
  }
  if (left_) {
    worker_.detach();
  } else {
    worker_.join();
  }
}

Ticket CpuQueue::Push(HostWork work) {
  MutexLock lock(state_->mutex);
  const Ticket ticket = ++state_->issued;
  state_->open.emplace(ticket, std::nullopt);
  state_->jobs.push_back({ticket, std::move(work), Clock::now()});
  state_->queued.NotifyOne();
  return ticket;
}

bool CpuQueue::Done(Ticket ticket) const {
  MutexLock lock(state_->mutex);
  return ticket <= state_->done;
}

bool CpuQueue::Pending(Ticket ticket) const {
  MutexLock lock(state_->mutex);
  return state_->open.contains(ticket);
}

std::optional<StageTimes> CpuQueue::Take(Ticket ticket, Clock::time_point deadline) {
  MutexLock lock(state_->mutex);
  while (state_->done < ticket) {
    if (!state_->completed.WaitUntil(state_->mutex, deadline) && state_->done < ticket) {
      return std::nullopt;
    }
  }
  const auto found = state_->open.find(ticket);
  const std::optional<StageTimes> times = found->second;
  state_->open.erase(found);
  return times;
}

void CpuQueue::Leave() {
  MutexLock lock(state_->mutex);
  state_->jobs.clear();
  left_ = true;
}

void CpuQueue::Work(const std::shared_ptr<State>& state) {
  while (true) {
    Job job;
    {
      MutexLock lock(state->mutex);
      while (state->jobs.empty() && !state->stopping) state->queued.Wait(state->mutex);
      if (state->jobs.empty()) return;
      job = std::move(state->jobs.front());
      state->jobs.pop_front();
    }
    const StageTimes times = Run(job, state->pool);
    MutexLock lock(state->mutex);
    state->open[job.ticket] = times;
    state->done = job.ticket;
    state->completed.NotifyAll();
  }
}

StageTimes CpuQueue::Run(const Job& job, ThreadPool& pool) {
  StageTimes times;
  job.work.RunFillsAndUploads();
  const Clock::time_point launched = Clock::now();
  job.work.RunLaunch([&](uint32_t count, const std::function<void(uint32_t)>& run) {
    pool.ParallelFor(count, run);
  });
  if (job.work.launches()) times.kernel_ns = NanosecondsBetween(launched, Clock::now());
  job.work.RunReadbacks();
  times.submit_to_complete_ns = NanosecondsBetween(job.submitted, Clock::now());
  return times;
}

}  // namespace keysieve::backends
