// SPDX-License-Identifier: MIT
// Fills, copies, launches and words on CUDA streams.
#include "backends/cuda/submitter.h"

#include "backends/cuda/memory.h"
#include "backends/cuda/program.h"
#include "evidence/base/status.h"

namespace keysieve::backends::cuda {
namespace {

CUdeviceptr DriverAddress(const BufferRange& range) {
  return reinterpret_cast<CUdeviceptr>(AddressOf(range));
}

}  // namespace

absl::Status Submitter::EnqueueFills(std::span<const Fill> fills) {
  for (const Fill& fill : fills) {
    if (fill.range.bytes == 0) continue;
    KS_RETURN_IF_ERROR(
        context_.Check(context_.driver().memset32(DriverAddress(fill.range), fill.word,
                                                  fill.range.bytes / 4, streams_.uploads.get()),
                       "filling memory"));
  }
  return absl::OkStatus();
}

absl::Status Submitter::EnqueueCopies(std::span<const Copy> copies, const Stream& stream) {
  for (const Copy& copy : copies) {
    if (copy.from.bytes == 0) continue;
    KS_RETURN_IF_ERROR(
        context_.Check(cudaMemcpyAsync(AddressOf(copy.to), AddressOf(copy.from), copy.from.bytes,
                                       cudaMemcpyDefault, stream.get()),
                       Cat("copying ", copy.from.bytes, " bytes")));
  }
  return absl::OkStatus();
}

absl::Status Submitter::EnqueueUploads(std::span<const Fill> fills, std::span<const Copy> uploads,
                                       Flight& flight) {
  KS_RETURN_IF_ERROR(EnqueueFills(fills));
  if (!uploads.empty()) {
    KS_RETURN_IF_ERROR(flight.Record(Mark::kUploadBegin, streams_.uploads));
    KS_RETURN_IF_ERROR(EnqueueCopies(uploads, streams_.uploads));
  }
  return flight.Record(Mark::kUploadEnd, streams_.uploads);
}

absl::Status Submitter::Enqueue(const Submission& submission, Flight& flight) {
  KS_RETURN_IF_ERROR(flight.Record(Mark::kSubmitted, streams_.marks));
  Mark before = Mark::kSubmitted;  // what the next stage waits for
  if (!submission.fills.empty() || !submission.uploads.empty()) {
    KS_RETURN_IF_ERROR(EnqueueUploads(submission.fills, submission.uploads, flight));
    before = Mark::kUploadEnd;
  }
  if (submission.launch != nullptr) {
    const auto& program = static_cast<const CudaProgram&>(*submission.launch->program);
    KS_RETURN_IF_ERROR(flight.LetWait(streams_.kernels, before));
    KS_RETURN_IF_ERROR(flight.Record(Mark::kKernelBegin, streams_.kernels));
    KS_RETURN_IF_ERROR(program.Enqueue(*submission.launch, streams_.kernels.get()));
    KS_RETURN_IF_ERROR(flight.Record(Mark::kKernelEnd, streams_.kernels));
    before = Mark::kKernelEnd;
  }
  KS_RETURN_IF_ERROR(flight.LetWait(streams_.readbacks, before));
  if (!submission.readbacks.empty()) {
    KS_RETURN_IF_ERROR(flight.Record(Mark::kReadbackBegin, streams_.readbacks));
    KS_RETURN_IF_ERROR(EnqueueCopies(submission.readbacks, streams_.readbacks));
  }
  return flight.Record(Mark::kEnd, streams_.readbacks);
}

absl::Status Submitter::EnqueueResident(const Launch& launch, Flight& flight) {
  KS_RETURN_IF_ERROR(flight.Record(Mark::kSubmitted, streams_.marks));
  KS_RETURN_IF_ERROR(flight.Record(Mark::kKernelBegin, streams_.resident));
  const auto& program = static_cast<const CudaProgram&>(*launch.program);
  KS_RETURN_IF_ERROR(program.Enqueue(launch, streams_.resident.get()));
  KS_RETURN_IF_ERROR(flight.Record(Mark::kKernelEnd, streams_.resident));
  return flight.Record(Mark::kEnd, streams_.resident);
}

absl::Status Submitter::EnqueueWord(std::span<const Copy> uploads, const BufferRange& word,
                                    uint32_t value, Flight& flight) {
  KS_RETURN_IF_ERROR(flight.Record(Mark::kSubmitted, streams_.marks));
  KS_RETURN_IF_ERROR(EnqueueUploads({}, uploads, flight));
  // The default write fences: whoever sees the word sees the copies before it.
  KS_RETURN_IF_ERROR(
      context_.Check(context_.driver().write_word(streams_.uploads.get(), DriverAddress(word),
                                                  value, CU_STREAM_WRITE_VALUE_DEFAULT),
                     "writing a word"));
  return flight.Record(Mark::kEnd, streams_.uploads);
}

}  // namespace keysieve::backends::cuda
