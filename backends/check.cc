// SPDX-License-Identifier: MIT
// The shared checks and the budget they go with.
#include "backends/check.h"

#include <string>

#include "evidence/base/status.h"

namespace keysieve::backends {
namespace {

absl::Status Invalid(std::string message) { return absl::InvalidArgumentError(message); }

absl::Status CheckFill(const Fill& fill, OwnerId owner) {
  KS_RETURN_IF_ERROR(CheckRange(fill.range, owner, "fill"));
  if (fill.range.offset % 4 != 0 || fill.range.bytes % 4 != 0) {
    return Invalid(Cat("fill of ", fill.range.bytes, " bytes at ", fill.range.offset,
                       " is not made of whole 4-byte words"));
  }
  return absl::OkStatus();
}

bool Overlap(const BufferRange& a, const BufferRange& b) {
  return a.buffer == b.buffer && a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
}

absl::Status CheckBinding(const BufferRange& range, OwnerId owner, const Limits& limits,
                          size_t index) {
  KS_RETURN_IF_ERROR(CheckRange(range, owner, "binding"));
  if (range.bytes == 0) return Invalid(Cat("binding ", index, " is empty; bind at least 4 bytes"));
  if (range.offset % limits.offset_alignment != 0) {
    return Invalid(Cat("binding ", index, " starts at byte ", range.offset,
                       ", which is no multiple of the device's ", limits.offset_alignment));
  }
  if (range.bytes > limits.max_buffer_bytes) {
    return Invalid(Cat("binding ", index, " has ", range.bytes, " bytes; the device takes ",
                       limits.max_buffer_bytes));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status MemoryBudget::Take(uint64_t bytes) {
  uint64_t taken = taken_.load();
  do {
    if (bytes > limit_ || taken > limit_ - bytes) {
      return absl::ResourceExhaustedError(
          Cat("allocating ", bytes, " bytes beside ", taken, " would pass the device's ", limit_));
    }
  } while (!taken_.compare_exchange_weak(taken, taken + bytes));
  return absl::OkStatus();
}

absl::Status CheckAllocation(uint64_t bytes, const Limits& limits) {
  if (bytes == 0) return Invalid("a buffer of 0 bytes; allocate at least 1");
  if (bytes > limits.max_buffer_bytes) {
    return Invalid(Cat("a buffer of ", bytes, " bytes; the device's buffers hold at most ",
                       limits.max_buffer_bytes, "; use several"));
  }
  return absl::OkStatus();
}

absl::Status CheckImage(const Image& image, BackendKind backend, const Limits& limits) {
  const std::string who = Cat("image \"", image.name, "\"");
  if (image.backend != backend) {
    return Invalid(
        Cat(who, " is for ", BackendName(image.backend), ", the device is ", BackendName(backend)));
  }
  if (image.bindings > kMaxBindings) {
    return Invalid(Cat(who, " has ", image.bindings, " bindings; at most ", kMaxBindings));
  }
  if (image.constants > kMaxConstants) {
    return Invalid(Cat(who, " has ", image.constants, " constant words; at most ", kMaxConstants));
  }
  if (image.workgroup_size == 0 || image.workgroup_size > limits.max_workgroup_size) {
    return Invalid(Cat(who, " has workgroups of ", image.workgroup_size, "; the device takes 1 to ",
                       limits.max_workgroup_size));
  }
  if (image.shared_bytes > limits.shared_memory_bytes) {
    return Invalid(Cat(who, " wants ", image.shared_bytes,
                       " bytes of shared memory; the device has ", limits.shared_memory_bytes));
  }
  return absl::OkStatus();
}

absl::Status CheckRange(const BufferRange& range, OwnerId owner, std::string_view what) {
  const auto* buffer = dynamic_cast<const OwnedBuffer*>(range.buffer);
  if (buffer == nullptr) return Invalid(Cat(what, " names no buffer"));
  if (buffer->owner() != owner) return Invalid(Cat(what, " names another device's buffer"));
  if (range.offset > buffer->size() || range.bytes > buffer->size() - range.offset) {
    return Invalid(Cat(what, " of ", range.bytes, " bytes at ", range.offset,
                       " leaves its buffer of ", buffer->size(), " bytes"));
  }
  return absl::OkStatus();
}

absl::Status CheckCopies(std::span<const Copy> copies, OwnerId owner, std::string_view what) {
  for (const Copy& copy : copies) {
    KS_RETURN_IF_ERROR(CheckRange(copy.from, owner, Cat(what, " source")));
    KS_RETURN_IF_ERROR(CheckRange(copy.to, owner, Cat(what, " target")));
    if (copy.from.bytes != copy.to.bytes) {
      return Invalid(Cat(what, " takes ", copy.from.bytes, " bytes to a range of ", copy.to.bytes));
    }
    if (Overlap(copy.from, copy.to)) return Invalid(Cat(what, " source and target overlap"));
    if (static_cast<int>(copy.traffic) >= evidence::kTrafficKinds) {
      return Invalid(
          Cat(what, " carries an unknown kind of traffic, ", static_cast<int>(copy.traffic)));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckLaunch(const Launch& launch, OwnerId owner, const Limits& limits) {
  const auto* program = dynamic_cast<const OwnedProgram*>(launch.program);
  if (program == nullptr) return Invalid("a launch names no program");
  if (program->owner() != owner) return Invalid("a launch names another device's program");
  const ProgramShape& shape = program->shape();
  if (launch.bindings.size() != shape.bindings) {
    return Invalid(Cat("a launch of \"", shape.name, "\" has ", launch.bindings.size(),
                       " bindings; the program takes ", shape.bindings));
  }
  if (launch.constants.size() != shape.constants) {
    return Invalid(Cat("a launch of \"", shape.name, "\" has ", launch.constants.size(),
                       " constant words; the program takes ", shape.constants));
  }
  if (launch.workgroups == 0 || launch.workgroups > limits.max_workgroups) {
    return Invalid(Cat("a launch of \"", shape.name, "\" has ", launch.workgroups,
                       " workgroups; the device takes 1 to ", limits.max_workgroups));
  }
  for (size_t i = 0; i < launch.bindings.size(); ++i) {
    KS_RETURN_IF_ERROR(CheckBinding(launch.bindings[i], owner, limits, i));
  }
  return absl::OkStatus();
}

absl::Status CheckSubmission(const Submission& submission, OwnerId owner, const Limits& limits) {
  for (const Fill& fill : submission.fills) KS_RETURN_IF_ERROR(CheckFill(fill, owner));
  KS_RETURN_IF_ERROR(CheckCopies(submission.uploads, owner, "upload"));
  if (submission.launch != nullptr) {
    KS_RETURN_IF_ERROR(CheckLaunch(*submission.launch, owner, limits));
  }
  return CheckCopies(submission.readbacks, owner, "readback");
}

absl::Status CheckWord(const BufferRange& word, OwnerId owner) {
  KS_RETURN_IF_ERROR(CheckRange(word, owner, "word"));
  if (word.bytes != 4 || word.offset % 4 != 0) {
    return Invalid(
        Cat("a word of ", word.bytes, " bytes at ", word.offset, " is not four aligned bytes"));
  }
  return absl::OkStatus();
}

absl::Status UnknownTicket(Ticket ticket) {
  return Invalid(Cat("ticket ", ticket, " was never issued or was waited for already"));
}

absl::Status AbandonedDevice(const Identity& identity) {
  return absl::DataLossError(Cat("device ", identity.index, " (", identity.name,
                                 ") was abandoned; a new process can use it again"));
}

absl::Status WaitTimedOut(Ticket ticket, const Identity& identity) {
  return absl::DeadlineExceededError(Cat("ticket ", ticket, " of device ", identity.index, " (",
                                         identity.name, ") is still pending"));
}

evidence::CopyTotals TotalsOf(std::span<const Copy> copies) {
  evidence::CopyTotals totals;
  for (const Copy& copy : copies) totals.bytes[static_cast<int>(copy.traffic)] += copy.from.bytes;
  return totals;
}

evidence::DispatchRecord RecordOf(const Submission& submission, const StageTimes& times) {
  evidence::DispatchRecord record;
  record.launched = submission.launch != nullptr;
  record.uploads = TotalsOf(submission.uploads);
  record.readbacks = TotalsOf(submission.readbacks);
  Stamp(times, record);
  return record;
}

void Stamp(const StageTimes& times, evidence::DispatchRecord& record) {
  record.upload_ns = times.upload_ns;
  record.kernel_ns = times.kernel_ns;
  record.readback_ns = times.readback_ns;
  record.submit_to_complete_ns = times.submit_to_complete_ns;
}

}  // namespace keysieve::backends
