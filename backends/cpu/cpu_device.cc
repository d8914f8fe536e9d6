// SPDX-License-Identifier: MIT
// The CPU device and its entry in the registry.
#include "backends/cpu/cpu_device.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <system_error>
#include <utility>

#include "backends/check.h"
#include "backends/cpu/cpu_queue.h"
#include "backends/cpu/host_work.h"
#include "backends/entry.h"
#include "evidence/base/status.h"

namespace keysieve::backends {
namespace {

constexpr uint64_t kLargestBuffer = (uint64_t{1} << 32) - 4;  // programs count bytes in 32 bits

std::string ProcessorName() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    const size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "CPU";
}

uint64_t PhysicalMemory() {
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long page = sysconf(_SC_PAGE_SIZE);
  return pages > 0 && page > 0 ? static_cast<uint64_t>(pages) * static_cast<uint64_t>(page) : 0;
}

Limits CpuLimits(uint32_t threads) {
  Limits limits;
  limits.memory_bytes = PhysicalMemory();
  limits.max_buffer_bytes = std::min(limits.memory_bytes, kLargestBuffer);
  limits.max_workgroups = 1u << 30;
  limits.max_workgroup_size = 4096;  // only a number to a host kernel
  limits.shared_memory_bytes = 1u << 20;
  limits.multiprocessors = threads;
  limits.unified_memory = true;
  return limits;
}

class CpuDevice final : public Device {
 public:
  explicit CpuDevice(const OpenOptions& options)
      : queue_(options.cpu_threads),
        limits_(CpuLimits(queue_.threads())),
        budget_(std::make_shared<MemoryBudget>(limits_.memory_bytes)) {}

  const Identity& identity() const override { return identity_; }
  const Limits& limits() const override { return limits_; }
  const Capabilities& capabilities() const override { return capabilities_; }
  Health health() const override { return abandoned_ ? Health::kLost : Health::kHealthy; }

  absl::StatusOr<std::unique_ptr<Buffer>> Allocate(MemoryKind kind, uint64_t bytes) override {
    KS_RETURN_IF_ERROR(Usable());
    KS_RETURN_IF_ERROR(CheckAllocation(bytes, limits_));
    KS_ASSIGN_OR_RETURN(auto memory, HostMemory::Create(budget_, bytes));
    return std::make_unique<HostBuffer>(this, kind, bytes, std::move(memory));
  }

  absl::StatusOr<std::unique_ptr<Program>> Load(const Image& image) override {
    KS_RETURN_IF_ERROR(Usable());
    KS_RETURN_IF_ERROR(CheckImage(image, BackendKind::kCpu, limits_));
    KS_RETURN_IF_ERROR(CheckHostImage(image));
    return std::make_unique<HostProgram>(this, image);
  }

  absl::StatusOr<Ticket> Submit(const Submission& submission) override {
    KS_RETURN_IF_ERROR(Usable());
    KS_RETURN_IF_ERROR(CheckSubmission(submission, this, limits_));
    return queue_.Push(HostWork::Retain(submission));
  }

  bool Done(Ticket ticket) override { return !abandoned_ && queue_.Done(ticket); }

  absl::StatusOr<StageTimes> Wait(Ticket ticket, Clock::time_point deadline) override {
    KS_RETURN_IF_ERROR(Usable());
    if (!queue_.Pending(ticket)) return UnknownTicket(ticket);
    const std::optional<StageTimes> times = queue_.Take(ticket, deadline);
    if (!times.has_value()) return WaitTimedOut(ticket, identity_);
    return *times;
  }

  absl::StatusOr<Sample> ReadSample() override { return Sample{}; }

  absl::StatusOr<Ticket> StartResident(const Launch&) override { return NoResidentKernels(); }
  absl::StatusOr<Ticket> CopyThenWriteWord(std::span<const Copy>, BufferRange, uint32_t) override {
    return NoResidentKernels();
  }

  void Abandon() override {
    abandoned_ = true;
    queue_.Leave();
  }

 private:
  absl::Status Usable() const { return abandoned_ ? AbandonedDevice(identity_) : absl::OkStatus(); }
  static absl::Status NoResidentKernels() {
    return absl::UnimplementedError("the cpu backend has no resident kernels; use epochs");
  }

  bool abandoned_ = false;
  CpuQueue queue_;
  const Identity identity_ = CpuIdentity();
  const Limits limits_;
  const Capabilities capabilities_;
  const std::shared_ptr<MemoryBudget> budget_;
};

}  // namespace

Identity CpuIdentity() {
  return {.backend = BackendKind::kCpu, .name = ProcessorName(), .software = true};
}

absl::StatusOr<std::unique_ptr<Device>> OpenCpuDevice(const OpenOptions& options) {
  try {
    return std::make_unique<CpuDevice>(options);
  } catch (const std::system_error& error) {  // the standard library's word for "no thread left"
    return absl::ResourceExhaustedError(
        Cat("the cpu backend cannot start its threads: ", error.what()));
  }
}

BackendEntry CpuEntry() {
  return {.kind = BackendKind::kCpu,
          .built = true,
          .probe =
              [] {
                return ProbeResult{{CpuIdentity()}, ""};
              },
          .open = [](const Identity& identity,
                     const OpenOptions& options) -> absl::StatusOr<std::unique_ptr<Device>> {
            if (identity.index == 0) return OpenCpuDevice(options);
            return absl::UnavailableError(
                Cat("there is no cpu device ", identity.index, "; the only one is 0"));
          }};
}

}  // namespace keysieve::backends
