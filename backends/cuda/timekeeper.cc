// SPDX-License-Identifier: MIT
// Reads events.
#include "backends/cuda/timekeeper.h"

#include <algorithm>
#include <utility>

#include "backends/check.h"
#include "evidence/base/status.h"

namespace keysieve::backends::cuda {
namespace {

constexpr uint64_t kOrigin = uint64_t{1} << 62;  // so that an older flight's time stays positive

}  // namespace

absl::StatusOr<uint64_t> Timekeeper::Place(const Flight& flight) const {
  if (newest_ == nullptr) return kOrigin;
  if (flight.ticket > newest_->ticket) {
    KS_ASSIGN_OR_RETURN(const uint64_t after, newest_->Until(flight));
    return newest_->submitted_at_ns + after;
  }
  KS_ASSIGN_OR_RETURN(const uint64_t before, flight.Until(*newest_));
  return newest_->submitted_at_ns - before;
}

absl::StatusOr<StageTimes> Timekeeper::Read(Flight& flight) {
  StageTimes times;
  OverlapTracker::Work work;
  KS_ASSIGN_OR_RETURN(flight.submitted_at_ns, Place(flight));
  const auto read = [&](Mark begin, Mark end,
                        std::optional<uint64_t>& ns) -> absl::StatusOr<std::optional<Interval>> {
    if (!flight.has(begin)) return std::optional<Interval>();
    KS_ASSIGN_OR_RETURN(ns, flight.Between(begin, end));
    KS_ASSIGN_OR_RETURN(const uint64_t from, flight.Between(Mark::kSubmitted, begin));
    const uint64_t at = flight.submitted_at_ns + from;
    return std::optional(Interval{at, at + *ns});
  };
  KS_ASSIGN_OR_RETURN(const auto upload,
                      read(Mark::kUploadBegin, Mark::kUploadEnd, times.upload_ns));
  KS_ASSIGN_OR_RETURN(work.kernel, read(Mark::kKernelBegin, Mark::kKernelEnd, times.kernel_ns));
  KS_ASSIGN_OR_RETURN(const auto readback,
                      read(Mark::kReadbackBegin, Mark::kEnd, times.readback_ns));
  for (const std::optional<Interval>& copy : {upload, readback}) {
    if (copy) work.copies.push_back(*copy);
  }
  KS_ASSIGN_OR_RETURN(const uint64_t whole, flight.Between(Mark::kSubmitted, Mark::kEnd));
  // Half a microsecond is what an event can tell: the whole is never less than its parts.
  times.submit_to_complete_ns =
      std::max(whole, times.upload_ns.value_or(0) + times.kernel_ns.value_or(0) +
                          times.readback_ns.value_or(0));
  Stamp(times, flight.record);
  flight.record.overlap_ns = flight.recorded ? overlap_.Add(work) : 0;
  return times;
}

std::unique_ptr<Flight> Timekeeper::Keep(std::unique_ptr<Flight> flight) {
  if (newest_ != nullptr && flight->ticket < newest_->ticket) return flight;
  std::swap(newest_, flight);
  return flight;
}

}  // namespace keysieve::backends::cuda
