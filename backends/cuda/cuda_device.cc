// SPDX-License-Identifier: MIT
// Submissions, tickets and waits on CUDA.
#include "backends/cuda/cuda_device.h"

#include <algorithm>
#include <map>
#include <thread>
#include <utility>
#include <vector>

#include "backends/check.h"
#include "backends/cuda/context.h"
#include "backends/cuda/errors.h"
#include "backends/cuda/flight.h"
#include "backends/cuda/memory.h"
#include "backends/cuda/nvml.h"
#include "backends/cuda/program.h"
#include "backends/cuda/submitter.h"
#include "backends/cuda/timekeeper.h"
#include "evidence/base/status.h"

namespace keysieve::backends::cuda {
namespace {

constexpr std::chrono::microseconds kBusy{200};  // of polling before a wait takes its time
constexpr std::chrono::microseconds kNap{20};

class CudaDevice final : public Device {
 public:
  CudaDevice(std::shared_ptr<Context> context, std::unique_ptr<Streams> streams)
      : context_(std::move(context)),
        nvml_(Nvml::Load()),
        streams_(std::move(streams)),
        submitter_(*context_, *streams_) {
    capabilities_ = {.kernel_timestamps = true,
                     .occupancy = true,
                     .utilization = nvml_ != nullptr,
                     .stall_counters = false};
  }
  ~CudaDevice() override {
    if (context_->abandoned()) return;
    cudaSetDevice(identity().index);
    for (const Stream* stream :
         {&streams_->uploads, &streams_->kernels, &streams_->readbacks, &streams_->resident}) {
      stream->Drain();
    }
  }

  const Identity& identity() const override { return context_->identity(); }
  const Limits& limits() const override { return context_->limits(); }
  const Capabilities& capabilities() const override { return capabilities_; }
  Health health() const override {
    return context_->lost() || context_->abandoned() ? Health::kLost : Health::kHealthy;
  }

  absl::StatusOr<std::unique_ptr<Buffer>> Allocate(MemoryKind kind, uint64_t bytes) override;
  absl::StatusOr<std::unique_ptr<Program>> Load(const Image& image) override;
  absl::StatusOr<Ticket> Submit(const Submission& submission) override;
  bool Done(Ticket ticket) override;
  absl::StatusOr<StageTimes> Wait(Ticket ticket, Clock::time_point deadline) override;
  absl::StatusOr<Sample> ReadSample() override;
  absl::StatusOr<Ticket> StartResident(const Launch& launch) override;
  absl::StatusOr<Ticket> CopyThenWriteWord(std::span<const Copy> uploads, BufferRange word,
                                           uint32_t value) override;
  void Abandon() override;

 private:
  absl::Status Usable();
  absl::StatusOr<std::unique_ptr<Flight>> TakeFlight();
  // Takes a flight in the air, or back and its work to an end if `enqueued` is an error.
  absl::StatusOr<Ticket> TakeOff(std::unique_ptr<Flight> flight, absl::Status enqueued);
  absl::StatusOr<StageTimes> Finish(Ticket ticket);
  absl::Status Await(const Flight& flight, Clock::time_point deadline);
  void NoteLaunch(const Launch& launch) {
    occupancy_ = static_cast<const CudaProgram*>(launch.program)->occupancy();
  }

  const std::shared_ptr<Context> context_;
  const std::shared_ptr<const Nvml> nvml_;
  Capabilities capabilities_;
  const std::unique_ptr<Streams> streams_;
  Submitter submitter_;
  Timekeeper timekeeper_;
  std::vector<std::unique_ptr<Flight>> idle_;
  std::map<Ticket, std::unique_ptr<Flight>> flying_;
  Ticket issued_ = 0;
  std::optional<double> occupancy_;  // of the program launched last
};

absl::Status CudaDevice::Usable() {
  if (context_->abandoned()) return AbandonedDevice(identity());
  if (context_->lost()) {
    return absl::DataLossError(Cat("cuda device ", identity().index, " (", identity().name,
                                   ") is lost to this process; a new one can use it again"));
  }
  return context_->Use();
}

absl::StatusOr<std::unique_ptr<Buffer>> CudaDevice::Allocate(MemoryKind kind, uint64_t bytes) {
  KS_RETURN_IF_ERROR(Usable());
  KS_RETURN_IF_ERROR(CheckAllocation(bytes, limits()));
  return CudaBuffer::Create(context_, kind, bytes);
}

absl::StatusOr<std::unique_ptr<Program>> CudaDevice::Load(const Image& image) {
  KS_RETURN_IF_ERROR(Usable());
  KS_RETURN_IF_ERROR(CheckImage(image, BackendKind::kCuda, limits()));
  return CudaProgram::Create(context_, image);
}

absl::StatusOr<std::unique_ptr<Flight>> CudaDevice::TakeFlight() {
  if (idle_.empty()) return Flight::Create(context_);
  std::unique_ptr<Flight> flight = std::move(idle_.back());
  idle_.pop_back();
  flight->Reset();
  flight->recorded = true;
  return flight;
}

absl::StatusOr<Ticket> CudaDevice::TakeOff(std::unique_ptr<Flight> flight, absl::Status enqueued) {
  if (!enqueued.ok()) {
    // Part of it may be on its way: the caller gets its buffers back only when that has ended. A
    // lost device ends at once; a resident kernel is not waited for.
    for (const Stream* stream : {&streams_->uploads, &streams_->kernels, &streams_->readbacks}) {
      stream->Drain();
    }
    idle_.push_back(std::move(flight));
    return enqueued;
  }
  const Ticket ticket = ++issued_;
  flight->ticket = ticket;
  flying_.emplace(ticket, std::move(flight));
  if (context_->recorder() != nullptr) context_->recorder()->Submitted();
  return ticket;
}

absl::StatusOr<Ticket> CudaDevice::Submit(const Submission& submission) {
  KS_RETURN_IF_ERROR(Usable());
  KS_RETURN_IF_ERROR(CheckSubmission(submission, context_.get(), limits()));
  KS_ASSIGN_OR_RETURN(auto flight, TakeFlight());
  flight->record = RecordOf(submission, {});
  if (submission.launch != nullptr) NoteLaunch(*submission.launch);
  absl::Status enqueued = submitter_.Enqueue(submission, *flight);
  return TakeOff(std::move(flight), std::move(enqueued));
}

absl::StatusOr<Ticket> CudaDevice::StartResident(const Launch& launch) {
  KS_RETURN_IF_ERROR(Usable());
  KS_RETURN_IF_ERROR(CheckLaunch(launch, context_.get(), limits()));
  KS_ASSIGN_OR_RETURN(auto flight, TakeFlight());
  flight->recorded = false;  // it runs for hours; each batch it answers is a dispatch instead
  NoteLaunch(launch);
  absl::Status enqueued = submitter_.EnqueueResident(launch, *flight);
  return TakeOff(std::move(flight), std::move(enqueued));
}

absl::StatusOr<Ticket> CudaDevice::CopyThenWriteWord(std::span<const Copy> uploads,
                                                     BufferRange word, uint32_t value) {
  KS_RETURN_IF_ERROR(Usable());
  KS_RETURN_IF_ERROR(CheckCopies(uploads, context_.get(), "upload"));
  KS_RETURN_IF_ERROR(CheckWord(word, context_.get()));
  KS_ASSIGN_OR_RETURN(auto flight, TakeFlight());
  flight->recorded = false;  // the caller knows when what it sets going is done, and records it
  absl::Status enqueued = submitter_.EnqueueWord(uploads, word, value, *flight);
  return TakeOff(std::move(flight), std::move(enqueued));
}

bool CudaDevice::Done(Ticket ticket) {
  if (context_->abandoned()) return false;
  if (context_->lost()) return true;
  const auto flight = flying_.find(ticket);
  if (flight == flying_.end()) return ticket <= issued_;
  if (!context_->Use().ok()) return context_->lost();
  const absl::StatusOr<bool> complete = flight->second->Complete();
  return !complete.ok() || *complete;  // a failure is for Wait() to tell
}

absl::Status CudaDevice::Await(const Flight& flight, Clock::time_point deadline) {
  const Clock::time_point leisure = Clock::now() + kBusy;
  while (true) {
    KS_ASSIGN_OR_RETURN(const bool complete, flight.Complete());
    if (complete) return absl::OkStatus();
    const Clock::time_point now = Clock::now();
    if (now >= deadline) return WaitTimedOut(flight.ticket, identity());
    if (now >= leisure) {
      std::this_thread::sleep_for(std::min<Clock::duration>(kNap, deadline - now));
    }
  }
}

absl::StatusOr<StageTimes> CudaDevice::Wait(Ticket ticket, Clock::time_point deadline) {
  KS_RETURN_IF_ERROR(Usable());
  const auto flight = flying_.find(ticket);
  if (flight == flying_.end()) return UnknownTicket(ticket);
  const absl::Status done = Await(*flight->second, deadline);
  if (done.ok()) return Finish(ticket);
  if (!absl::IsDeadlineExceeded(done)) flying_.erase(flight);
  return done;
}

absl::StatusOr<StageTimes> CudaDevice::Finish(Ticket ticket) {
  std::unique_ptr<Flight> flight = std::move(flying_.extract(ticket).mapped());
  absl::StatusOr<StageTimes> times = timekeeper_.Read(*flight);
  if (times.ok() && flight->recorded && context_->recorder() != nullptr) {
    context_->recorder()->Completed(flight->record);
  }
  // The newest finished flight stays behind as the point that later times are told from.
  std::unique_ptr<Flight> freed = timekeeper_.Keep(std::move(flight));
  if (freed != nullptr) idle_.push_back(std::move(freed));
  return times;
}

absl::StatusOr<Sample> CudaDevice::ReadSample() {
  KS_RETURN_IF_ERROR(Usable());
  Sample sample;
  sample.occupancy_ratio = occupancy_;
  if (nvml_ != nullptr) sample.utilization_ratio = nvml_->Utilization(identity().pci_address);
  return sample;
}

void CudaDevice::Abandon() {
  if (context_->abandoned()) return;
  if (!context_->lost() && !flying_.empty() && context_->recorder() != nullptr) {
    context_->recorder()->Fault(evidence::FaultKind::kTimeout);
  }
  context_->Abandon();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Device>> OpenCudaDevice(const Identity& identity,
                                                       const OpenOptions& options) {
  KS_ASSIGN_OR_RETURN(auto context, Context::Create(identity, options.recorder));
  KS_ASSIGN_OR_RETURN(auto streams, Streams::Create(*context));
  return std::make_unique<CudaDevice>(std::move(context), std::move(streams));
}

}  // namespace keysieve::backends::cuda
