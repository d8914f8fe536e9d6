// SPDX-License-Identifier: MIT
// Streams and events. Uploads, kernels and readbacks have a stream each, so that the stages of
// different submissions overlap while each stage runs in order; a fourth stream carries nothing but
// the mark of when a submission was made, by the device's clock. Flights hold a submission's events
// and are recycled.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>

#include "absl/status/statusor.h"
#include "backends/cuda/context.h"
#include "backends/device.h"

namespace keysieve::backends::cuda {

class Stream {
 public:
  static absl::StatusOr<Stream> Create(Context& context);
  Stream(Stream&& other) noexcept
      : context_(other.context_), stream_(std::exchange(other.stream_, nullptr)) {}
  Stream& operator=(Stream&&) = delete;
  ~Stream();

  cudaStream_t get() const { return stream_; }
  void Drain() const { cudaStreamSynchronize(stream_); }  // blocks

 private:
  Stream(Context& context, cudaStream_t stream) : context_(&context), stream_(stream) {}
  Context* context_;
  cudaStream_t stream_;
};

struct Streams {
  static absl::StatusOr<std::unique_ptr<Streams>> Create(Context& context);
  Stream marks;
  Stream uploads;
  Stream kernels;
  Stream readbacks;
  Stream resident;
};

enum class Mark : uint32_t {
  kSubmitted,
  kUploadBegin,
  kUploadEnd,
  kKernelBegin,
  kKernelEnd,
  kReadbackBegin,
  kEnd,  // the last: the submission is complete
};
inline constexpr size_t kMarks = 7;

class Flight {
 public:
  static absl::StatusOr<std::unique_ptr<Flight>> Create(std::shared_ptr<Context> context);
  ~Flight();
  Flight(const Flight&) = delete;
  Flight& operator=(const Flight&) = delete;

  void Reset() { set_ = {}; }
  absl::Status Record(Mark mark, const Stream& stream);
  absl::Status LetWait(const Stream& stream, Mark mark) const;
  bool has(Mark mark) const { return set_[static_cast<size_t>(mark)]; }

  absl::StatusOr<bool> Complete() const;  // never blocks
  // Nanoseconds between two recorded marks, after completion.
  absl::StatusOr<uint64_t> Between(Mark from, Mark to) const;
  // From this flight's submission to that of a later one.
  absl::StatusOr<uint64_t> Until(const Flight& later) const;

  // The device's notes.
  Ticket ticket = 0;
  evidence::DispatchRecord record;
  bool recorded = true;          // false: a resident kernel's own launch, which is no dispatch
  uint64_t submitted_at_ns = 0;  // on the device's own time line, known after completion

 private:
  explicit Flight(std::shared_ptr<Context> context) : context_(std::move(context)) {}
  cudaEvent_t event(Mark mark) const { return events_[static_cast<size_t>(mark)]; }

  const std::shared_ptr<Context> context_;
  std::array<cudaEvent_t, kMarks> events_{};
  std::array<bool, kMarks> set_{};
};

}  // namespace keysieve::backends::cuda
