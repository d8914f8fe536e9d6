// SPDX-License-Identifier: MIT
// The checks every backend makes before it calls a driver: sizes, ranges, alignments and shapes.
// They live here once, so that all backends refuse the same things with the same words.
// INVALID_ARGUMENT names the thing, the value and the limit.
//
//   KS_RETURN_IF_ERROR(CheckSubmission(submission, this, limits_));
#pragma once

#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "backends/device.h"
#include "backends/owned.h"

namespace keysieve::backends {

inline constexpr uint32_t kMaxBindings = 16;   // storage buffers of one program
inline constexpr uint32_t kMaxConstants = 16;  // 32-bit words of one launch

absl::Status CheckAllocation(uint64_t bytes, const Limits& limits);
absl::Status CheckImage(const Image& image, BackendKind backend, const Limits& limits);
// `what` names the range in the message.
absl::Status CheckRange(const BufferRange& range, OwnerId owner, std::string_view what);
absl::Status CheckCopies(std::span<const Copy> copies, OwnerId owner, std::string_view what);
absl::Status CheckLaunch(const Launch& launch, OwnerId owner, const Limits& limits);
absl::Status CheckSubmission(const Submission& submission, OwnerId owner, const Limits& limits);
// A word of CopyThenWriteWord(): four aligned bytes.
absl::Status CheckWord(const BufferRange& word, OwnerId owner);

absl::Status UnknownTicket(Ticket ticket);
absl::Status AbandonedDevice(const Identity& identity);
absl::Status WaitTimedOut(Ticket ticket, const Identity& identity);

// What a completed submission tells the recorder; overlap is left at 0.
evidence::DispatchRecord RecordOf(const Submission& submission, const StageTimes& times);
void Stamp(const StageTimes& times, evidence::DispatchRecord& record);

// Bytes of `copies` by what they carry.
evidence::CopyTotals TotalsOf(std::span<const Copy> copies);

}  // namespace keysieve::backends
