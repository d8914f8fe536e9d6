// SPDX-License-Identifier: MIT
// A Vulkan backend that fails when the text it scans says so. Linked before the real one, it makes
// a keysieved whose device can be lost, hung or broken by a test from outside; it works on the CPU.
//
//   keysieve-fault:lose      the device is lost           keysieve-fault:hang   never completes
//   keysieve-fault:dispatch  the dispatch fails           keysieve-fault:block  a call never
//   returns
//
// A call after Abandon() ends the process with a line that says so.
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <thread>

#include "backends/check.h"
#include "backends/cpu/cpu_device.h"
#include "backends/entry.h"
#include "megakernel/images/embedded.h"
#include "megakernel/images/images.h"
#include "tests/support/marked_text.h"

namespace keysieve::megakernel {

// Any words will do: the device below puts the CPU's program in their place.
namespace {
constexpr std::byte kWord[4] = {};
}
std::span<const std::byte> VulkanScanCode() { return kWord; }
std::span<const std::byte> VulkanQueuedCode() { return kWord; }
std::span<const std::byte> VulkanSubgroupCode() { return kWord; }

}  // namespace keysieve::megakernel

namespace keysieve::backends {
namespace {

Identity FaultyIdentity() {
  Identity identity;
  identity.backend = BackendKind::kVulkan;
  identity.name = "faulty device";
  identity.uuid = "00000000000000000000000000000fa1";
  return identity;
}

class FaultyDevice final : public Device {
 public:
  FaultyDevice(std::unique_ptr<Device> inner, evidence::DeviceRecorder* recorder)
      : inner_(std::move(inner)), recorder_(recorder), limits_(inner_->limits()) {
    limits_.unified_memory = false;  // text comes by copies, as to a real device
  }

  const Identity& identity() const override { return identity_; }
  const Limits& limits() const override { return limits_; }
  const Capabilities& capabilities() const override { return inner_->capabilities(); }
  Health health() const override { return lost_ ? Health::kLost : Health::kHealthy; }

  absl::StatusOr<std::unique_ptr<Buffer>> Allocate(MemoryKind kind, uint64_t bytes) override {
    Touch("Allocate");
    return inner_->Allocate(kind, bytes);
  }
  absl::StatusOr<std::unique_ptr<Program>> Load(const Image& image) override {
    Touch("Load");
    KS_ASSIGN_OR_RETURN(const Image host,
                        megakernel::ScanImage(BackendKind::kCpu, image.workgroup_size));
    return inner_->Load(host);
  }
  absl::StatusOr<Ticket> Submit(const Submission& submission) override {
    Touch("Submit");
    const std::string_view fault = test::WordAfter("keysieve-fault:", submission);
    if (fault == "dispatch") return Fault(evidence::FaultKind::kDispatch, Broken());
    while (fault == "block") std::this_thread::sleep_for(std::chrono::hours(1));
    KS_ASSIGN_OR_RETURN(const Ticket ticket, inner_->Submit(submission));
    if (fault == "lose") lose_.insert(ticket);
    if (fault == "hang") hang_.insert(ticket);
    records_[ticket] = RecordOf(submission, {});
    if (recorder_ != nullptr) recorder_->Submitted();
    return ticket;
  }
  bool Done(Ticket ticket) override {
    Touch("Done");
    return !Hangs(ticket) && inner_->Done(ticket);
  }
  absl::StatusOr<StageTimes> Wait(Ticket ticket, Clock::time_point deadline) override {
    Touch("Wait");
    if (Hangs(ticket)) {
      std::this_thread::sleep_until(deadline);
      return absl::DeadlineExceededError("the test's text makes the device hang");
    }
    if (lost_ || lose_.contains(ticket)) {
      lost_ = true;
      return Fault(evidence::FaultKind::kDeviceLost,
                   absl::DataLossError("the test's text makes the device vanish"));
    }
    auto times = inner_->Wait(ticket, deadline);
    if (times.ok() && recorder_ != nullptr) {
      recorder_->Completed(records_.extract(ticket).mapped());
    }
    return times;
  }
  absl::StatusOr<Sample> ReadSample() override {
    Touch("ReadSample");
    return Sample{};
  }
  absl::StatusOr<Ticket> StartResident(const Launch&) override {
    return absl::UnimplementedError("no resident kernels");
  }
  absl::StatusOr<Ticket> CopyThenWriteWord(std::span<const Copy>, BufferRange, uint32_t) override {
    return absl::UnimplementedError("no resident kernels");
  }
  void Abandon() override {
    if (!lost_ && !abandoned_ && recorder_ != nullptr) {
      recorder_->Fault(evidence::FaultKind::kTimeout);
    }
    abandoned_ = true;
  }

 private:
  void Touch(const char* call) const {
    if (!abandoned_) return;
    std::fprintf(stderr, "%s() after Abandon()\n", call);
    std::abort();
  }
  bool Hangs(Ticket ticket) const { return !hang_.empty() && ticket >= *hang_.begin(); }
  static absl::Status Broken() {
    return absl::InternalError("the test's text makes the dispatch fail");
  }
  absl::Status Fault(evidence::FaultKind kind, absl::Status status) {
    if (recorder_ != nullptr) recorder_->Fault(kind);
    return status;
  }

  const std::unique_ptr<Device> inner_;
  evidence::DeviceRecorder* const recorder_;
  Limits limits_;
  const Identity identity_ = FaultyIdentity();
  std::set<Ticket> lose_, hang_;
  std::map<Ticket, evidence::DispatchRecord> records_;
  bool lost_ = false;
  bool abandoned_ = false;
};

}  // namespace

BackendEntry VulkanEntry() {
  return {.kind = BackendKind::kVulkan,
          .built = true,
          .probe =
              [] {
                return ProbeResult{{FaultyIdentity()}, ""};
              },
          .open = [](const Identity&,
                     const OpenOptions& options) -> absl::StatusOr<std::unique_ptr<Device>> {
            OpenOptions on_cpu = options;
            on_cpu.recorder = nullptr;
            KS_ASSIGN_OR_RETURN(auto inner, OpenCpuDevice(on_cpu));
            return std::make_unique<FaultyDevice>(std::move(inner), options.recorder);
          }};
}

}  // namespace keysieve::backends
