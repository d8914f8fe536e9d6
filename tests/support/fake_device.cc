// SPDX-License-Identifier: MIT
// The fake device: host work, a virtual clock and a script of faults.
#include "tests/support/fake_device.h"

#include <utility>

#include "backends/check.h"
#include "evidence/base/status.h"

namespace keysieve::test {

using backends::Clock;
using backends::Ticket;
using evidence::FaultKind;

struct FakeDevice::Accounting {
  uint64_t buffers = 0;
  uint64_t bytes = 0;
  evidence::DeviceRecorder* recorder = nullptr;
};

class FakeDevice::FakeBuffer final : public backends::HostBuffer {
 public:
  FakeBuffer(backends::OwnerId owner, backends::MemoryKind kind, uint64_t size,
             std::shared_ptr<backends::HostMemory> memory, std::shared_ptr<Accounting> accounting)
      : HostBuffer(owner, kind, size, std::move(memory)), accounting_(std::move(accounting)) {
    ++accounting_->buffers;
    accounting_->bytes += size;
    if (accounting_->recorder != nullptr) accounting_->recorder->Allocated(size);
  }
  ~FakeBuffer() override {
    --accounting_->buffers;
    accounting_->bytes -= size();
    if (accounting_->recorder != nullptr) accounting_->recorder->Freed(size());
  }

 private:
  const std::shared_ptr<Accounting> accounting_;
};

FakeDevice::FakeDevice(FakeOptions options, evidence::DeviceRecorder* recorder)
    : options_(std::move(options)),
      recorder_(recorder),
      budget_(std::make_shared<backends::MemoryBudget>(options_.limits.memory_bytes)),
      accounting_(std::make_shared<Accounting>()),
      now_(Clock::now()),
      idle_from_(now_) {
  accounting_->recorder = recorder;
}

FakeDevice::~FakeDevice() = default;

uint64_t FakeDevice::live_buffers() const { return accounting_->buffers; }
uint64_t FakeDevice::live_bytes() const { return accounting_->bytes; }

backends::Health FakeDevice::health() const {
  return lost_ || abandoned_ ? backends::Health::kLost : backends::Health::kHealthy;
}

absl::Status FakeDevice::Usable() {
  if (abandoned_) {
    ++calls_after_abandon_;
    return backends::AbandonedDevice(options_.identity);
  }
  if (lost_) return absl::DataLossError("the fake device is lost, as its script says");
  return absl::OkStatus();
}

absl::Status FakeDevice::Fault(FaultKind kind, absl::Status status) {
  if (recorder_ != nullptr) recorder_->Fault(kind);
  return status;
}

absl::Status FakeDevice::Lose() {
  lost_ = true;
  return Fault(FaultKind::kDeviceLost,
               absl::DataLossError("the fake device is lost, as its script says"));
}

absl::StatusOr<std::unique_ptr<backends::Buffer>> FakeDevice::Allocate(backends::MemoryKind kind,
                                                                       uint64_t bytes) {
  KS_RETURN_IF_ERROR(Usable());
  KS_RETURN_IF_ERROR(backends::CheckAllocation(bytes, options_.limits));
  if (options_.script.refuse_allocations.contains(++allocations_)) {
    return Fault(FaultKind::kOutOfMemory,
                 absl::ResourceExhaustedError(
                     Cat("the script refuses allocation ", allocations_, " of ", bytes, " bytes")));
  }
  auto memory = backends::HostMemory::Create(budget_, bytes);
  if (!memory.ok()) return Fault(FaultKind::kOutOfMemory, memory.status());
  return std::make_unique<FakeBuffer>(this, kind, bytes, *std::move(memory), accounting_);
}

absl::StatusOr<std::unique_ptr<backends::Program>> FakeDevice::Load(const backends::Image& image) {
  KS_RETURN_IF_ERROR(Usable());
  KS_RETURN_IF_ERROR(backends::CheckImage(image, options_.identity.backend, options_.limits));
  KS_RETURN_IF_ERROR(backends::CheckHostImage(image));
  return std::make_unique<backends::HostProgram>(this, image);
}

FakeDevice::Flight FakeDevice::Schedule(const backends::Submission& submission, Ticket ticket) {
  Flight flight;
  flight.work = backends::HostWork::Retain(submission);
  flight.submitted = now_;
  auto kernel = options_.kernel;
  if (const auto slow = options_.script.slow.find(ticket); slow != options_.script.slow.end()) {
    kernel += slow->second;
  }
  auto busy = std::chrono::nanoseconds(0);
  if (!submission.uploads.empty()) {
    flight.times.upload_ns = options_.upload.count();
    busy += options_.upload;
  }
  if (submission.launch != nullptr) {
    flight.times.kernel_ns = kernel.count();
    busy += kernel;
  }
  if (!submission.readbacks.empty()) {
    flight.times.readback_ns = options_.readback.count();
    busy += options_.readback;
  }
  idle_from_ = std::max(idle_from_, now_ + options_.queue) + busy;
  flight.completes = idle_from_;
  flight.times.submit_to_complete_ns = (flight.completes - flight.submitted).count();
  flight.record = backends::RecordOf(submission, flight.times);
  return flight;
}

void FakeDevice::Run(Ticket ticket, Flight& flight) {
  flight.work.RunFillsAndUploads();
  flight.work.RunLaunch(backends::RunInline);
  flight.snapshot = flight.work.SnapshotReadbacks();
  const auto corrupt = options_.script.corrupt.find(ticket);
  if (corrupt == options_.script.corrupt.end()) return;
  uint64_t offset = corrupt->second.offset;
  for (std::vector<std::byte>& bytes : flight.snapshot) {
    if (offset < bytes.size()) {
      bytes[offset] ^= std::byte{corrupt->second.mask};
      return;
    }
    offset -= bytes.size();
  }
}

absl::StatusOr<Ticket> FakeDevice::Submit(const backends::Submission& submission) {
  KS_RETURN_IF_ERROR(Usable());
  KS_RETURN_IF_ERROR(backends::CheckSubmission(submission, this, options_.limits));
  if (options_.script.refuse_submits.contains(++submits_)) {
    return Fault(FaultKind::kDispatch,
                 absl::InternalError(Cat("the script refuses submission ", submits_)));
  }
  const Ticket ticket = ++issued_;
  Flight& flight = flights_[ticket] = Schedule(submission, ticket);
  if (!options_.run_late && !options_.script.fail_tickets.contains(ticket)) Run(ticket, flight);
  if (recorder_ != nullptr) recorder_->Submitted();
  return ticket;
}

bool FakeDevice::Hangs(Ticket ticket) const {
  const Ticket first = options_.script.hang_ticket;
  return first != 0 && ticket >= first;
}

void FakeDevice::Deliver(Ticket ticket, Flight& flight) {
  if (flight.delivered || options_.script.fail_tickets.contains(ticket)) return;
  if (options_.run_late) Run(ticket, flight);
  flight.work.Deliver(flight.snapshot);
  flight.delivered = true;
}

bool FakeDevice::Done(Ticket ticket) {
  if (!Usable().ok()) return lost_ && !abandoned_;
  now_ += options_.poll;
  const auto found = flights_.find(ticket);
  if (found == flights_.end()) return ticket <= issued_;
  if (Hangs(ticket) || found->second.completes > now_) return false;
  // A device works in order: what came before is done too.
  for (auto& [earlier, flight] : flights_) {
    if (earlier > ticket || Lost(earlier)) break;
    Deliver(earlier, flight);
  }
  return true;
}

bool FakeDevice::Lost(Ticket ticket) const {
  const Ticket first = options_.script.lose_ticket;
  return first != 0 && ticket >= first;
}

absl::StatusOr<backends::StageTimes> FakeDevice::Wait(Ticket ticket, Clock::time_point deadline) {
  KS_RETURN_IF_ERROR(Usable());
  const auto found = flights_.find(ticket);
  if (found == flights_.end()) return backends::UnknownTicket(ticket);
  if (Lost(ticket)) return Lose();
  if (Hangs(ticket) || found->second.completes > deadline) {
    now_ = std::max(now_, deadline);
    return backends::WaitTimedOut(ticket, options_.identity);
  }
  now_ = std::max(now_, found->second.completes);
  for (auto& [earlier, flight] : flights_) {
    if (earlier > ticket) break;
    Deliver(earlier, flight);
  }
  return Complete(ticket);
}

absl::StatusOr<backends::StageTimes> FakeDevice::Complete(Ticket ticket) {
  const Flight flight = std::move(flights_.extract(ticket).mapped());
  if (options_.script.fail_tickets.contains(ticket)) {
    return Fault(FaultKind::kDispatch,
                 absl::InternalError(Cat("the script fails ticket ", ticket)));
  }
  if (recorder_ != nullptr) recorder_->Completed(flight.record);
  return flight.times;
}

absl::StatusOr<backends::Sample> FakeDevice::ReadSample() {
  KS_RETURN_IF_ERROR(Usable());
  return backends::Sample{};
}

absl::StatusOr<Ticket> FakeDevice::StartResident(const backends::Launch&) {
  KS_RETURN_IF_ERROR(Usable());
  return absl::UnimplementedError("the fake device has no resident kernels; use epochs");
}

absl::StatusOr<Ticket> FakeDevice::CopyThenWriteWord(std::span<const backends::Copy>,
                                                     backends::BufferRange, uint32_t) {
  KS_RETURN_IF_ERROR(Usable());
  return absl::UnimplementedError("the fake device has no resident kernels; use epochs");
}

void FakeDevice::Abandon() {
  if (abandoned_) return;
  // Work that never came back is what an abandoned device timed out on.
  if (!lost_ && !flights_.empty() && recorder_ != nullptr) recorder_->Fault(FaultKind::kTimeout);
  abandoned_ = true;
}

}  // namespace keysieve::test
