// SPDX-License-Identifier: MIT
// Streams and events over the CUDA runtime.
#include "backends/cuda/flight.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "evidence/base/status.h"

namespace keysieve::backends::cuda {

absl::StatusOr<Stream> Stream::Create(Context& context) {
  cudaStream_t stream = nullptr;
  KS_RETURN_IF_ERROR(context.Check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking),
                                   "creating a stream"));
  return Stream(context, stream);
}

Stream::~Stream() {
  if (stream_ != nullptr && !context_->abandoned()) cudaStreamDestroy(stream_);
}

absl::StatusOr<std::unique_ptr<Streams>> Streams::Create(Context& context) {
  KS_ASSIGN_OR_RETURN(auto marks, Stream::Create(context));
  KS_ASSIGN_OR_RETURN(auto uploads, Stream::Create(context));
  KS_ASSIGN_OR_RETURN(auto kernels, Stream::Create(context));
  KS_ASSIGN_OR_RETURN(auto readbacks, Stream::Create(context));
  KS_ASSIGN_OR_RETURN(auto resident, Stream::Create(context));
  return std::unique_ptr<Streams>(new Streams{std::move(marks), std::move(uploads),
                                              std::move(kernels), std::move(readbacks),
                                              std::move(resident)});
}

absl::StatusOr<std::unique_ptr<Flight>> Flight::Create(std::shared_ptr<Context> context) {
  std::unique_ptr<Flight> flight(new Flight(std::move(context)));
  for (cudaEvent_t& event : flight->events_) {
    KS_RETURN_IF_ERROR(flight->context_->Check(cudaEventCreateWithFlags(&event, cudaEventDefault),
                                               "creating an event"));
  }
  return flight;
}

Flight::~Flight() {
  if (context_->abandoned()) return;
  for (cudaEvent_t event : events_) {
    if (event != nullptr) cudaEventDestroy(event);
  }
}

absl::Status Flight::Record(Mark mark, const Stream& stream) {
  KS_RETURN_IF_ERROR(
      context_->Check(cudaEventRecord(event(mark), stream.get()), "recording an event"));
  set_[static_cast<size_t>(mark)] = true;
  return absl::OkStatus();
}

absl::Status Flight::LetWait(const Stream& stream, Mark mark) const {
  return context_->Check(cudaStreamWaitEvent(stream.get(), event(mark), 0), "ordering streams");
}

absl::StatusOr<bool> Flight::Complete() const {
  const cudaError_t result = cudaEventQuery(event(Mark::kEnd));
  if (result == cudaErrorNotReady) {
    cudaGetLastError();
    return false;
  }
  KS_RETURN_IF_ERROR(context_->Check(result, Cat("running ticket ", ticket)));
  return true;
}

absl::StatusOr<uint64_t> Flight::Between(Mark from, Mark to) const {
  float ms = 0;
  KS_RETURN_IF_ERROR(context_->Check(cudaEventElapsedTime(&ms, event(from), event(to)),
                                     "reading the device's clock"));
  return static_cast<uint64_t>(std::llround(std::max(0.0, static_cast<double>(ms) * 1e6)));
}

absl::StatusOr<uint64_t> Flight::Until(const Flight& later) const {
  float ms = 0;
  KS_RETURN_IF_ERROR(context_->Check(
      cudaEventElapsedTime(&ms, event(Mark::kSubmitted), later.event(Mark::kSubmitted)),
      "reading the device's clock"));
  return static_cast<uint64_t>(std::llround(std::max(0.0, static_cast<double>(ms) * 1e6)));
}

}  // namespace keysieve::backends::cuda
