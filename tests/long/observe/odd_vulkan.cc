// SPDX-License-Identifier: MIT
// A Vulkan backend of two devices that misbehave as alerts want it, linked before the real one:
// device 1 cannot be opened, device 0 works on the CPU and does what the text it scans says.
//
//   keysieve-odd:hang   never completes      keysieve-odd:lose      the device is lost
//   keysieve-odd:grow   allocates 80 MiB     keysieve-odd:overfree  reports a free that cannot be
#include <map>
#include <memory>
#include <set>
#include <string_view>
#include <thread>
#include <vector>

#include "backends/check.h"
#include "backends/cpu/cpu_device.h"
#include "backends/entry.h"
#include "megakernel/images/embedded.h"
#include "megakernel/images/images.h"
#include "tests/support/marked_text.h"

namespace keysieve::megakernel {

// Any words will do: the device puts the CPU's program in their place.
namespace {
constexpr std::byte kWord[4] = {};
}
std::span<const std::byte> VulkanScanCode() { return kWord; }
std::span<const std::byte> VulkanQueuedCode() { return kWord; }
std::span<const std::byte> VulkanSubgroupCode() { return kWord; }

}  // namespace keysieve::megakernel

namespace keysieve::backends {
namespace {

constexpr uint64_t kGrowth = 80ull << 20;

Identity IdentityOf(int index) {
  Identity identity;
  identity.backend = BackendKind::kVulkan;
  identity.index = index;
  identity.name = index == 0 ? "odd device" : "closed device";
  identity.uuid = index == 0 ? "0dd0" : "0dd1";
  return identity;
}

class OddDevice final : public Device {
 public:
  OddDevice(std::unique_ptr<Device> inner, evidence::DeviceRecorder* recorder)
      : inner_(std::move(inner)), recorder_(recorder), limits_(inner_->limits()) {
    limits_.unified_memory = false;  // text comes by copies, as to a real device
  }

  const Identity& identity() const override { return identity_; }
  const Limits& limits() const override { return limits_; }
  const Capabilities& capabilities() const override { return inner_->capabilities(); }
  Health health() const override { return lost_ ? Health::kLost : Health::kHealthy; }

  absl::StatusOr<std::unique_ptr<Buffer>> Allocate(MemoryKind kind, uint64_t bytes) override {
    auto buffer = inner_->Allocate(kind, bytes);
    if (buffer.ok()) recorder_->Allocated(bytes);
    return buffer;
  }
  absl::StatusOr<std::unique_ptr<Program>> Load(const Image& image) override {
    KS_ASSIGN_OR_RETURN(const Image host,
                        megakernel::ScanImage(BackendKind::kCpu, image.workgroup_size));
    return inner_->Load(host);
  }
  absl::StatusOr<Ticket> Submit(const Submission& submission) override {
    const std::string_view order = test::WordAfter("keysieve-odd:", submission);
    if (order == "overfree") recorder_->Freed(1ull << 60);
    if (order == "grow") {
      KS_ASSIGN_OR_RETURN(auto more, Allocate(MemoryKind::kDevice, kGrowth));
      growth_.push_back(std::move(more));
    }
    KS_ASSIGN_OR_RETURN(const Ticket ticket, inner_->Submit(submission));
    if (order == "hang") hang_.insert(ticket);
    if (order == "lose") lose_.insert(ticket);
    records_[ticket] = RecordOf(submission, {});
    recorder_->Submitted();
    return ticket;
  }
  bool Done(Ticket ticket) override { return !Hangs(ticket) && inner_->Done(ticket); }
  absl::StatusOr<StageTimes> Wait(Ticket ticket, Clock::time_point deadline) override {
    if (Hangs(ticket)) {
      std::this_thread::sleep_until(deadline);
      return absl::DeadlineExceededError("the text makes the device hang");
    }
    if (lost_ || lose_.contains(ticket)) {
      lost_ = true;
      recorder_->Fault(evidence::FaultKind::kDeviceLost);
      return absl::DataLossError("the text makes the device vanish");
    }
    auto times = inner_->Wait(ticket, deadline);
    if (times.ok()) {
      evidence::DispatchRecord record = records_.extract(ticket).mapped();
      Stamp(*times, record);
      recorder_->Completed(record);
    }
    return times;
  }
  absl::StatusOr<Sample> ReadSample() override { return Sample{}; }
  absl::StatusOr<Ticket> StartResident(const Launch&) override { return NoResident(); }
  absl::StatusOr<Ticket> CopyThenWriteWord(std::span<const Copy>, BufferRange, uint32_t) override {
    return NoResident();
  }
  void Abandon() override {
    if (!lost_ && !hang_.empty()) recorder_->Fault(evidence::FaultKind::kTimeout);
  }

 private:
  static absl::Status NoResident() { return absl::UnimplementedError("no resident kernels"); }
  bool Hangs(Ticket ticket) const { return !hang_.empty() && ticket >= *hang_.begin(); }

  const std::unique_ptr<Device> inner_;
  evidence::DeviceRecorder* const recorder_;
  Limits limits_;
  const Identity identity_ = IdentityOf(0);
  std::set<Ticket> hang_, lose_;
  std::map<Ticket, evidence::DispatchRecord> records_;
  std::vector<std::unique_ptr<Buffer>> growth_;
  bool lost_ = false;
};

absl::StatusOr<std::unique_ptr<Device>> Open(const Identity& identity, const OpenOptions& options) {
  if (identity.index != 0) {
    return absl::UnavailableError("no permission on the device's node");
  }
  OpenOptions on_cpu = options;
  on_cpu.recorder = nullptr;
  KS_ASSIGN_OR_RETURN(auto inner, OpenCpuDevice(on_cpu));
  return std::make_unique<OddDevice>(std::move(inner), options.recorder);
}

}  // namespace

BackendEntry VulkanEntry() {
  return {.kind = BackendKind::kVulkan,
          .built = true,
          .probe =
              [] {
                return ProbeResult{{IdentityOf(0), IdentityOf(1)}, ""};
              },
          .open = Open};
}

}  // namespace keysieve::backends
