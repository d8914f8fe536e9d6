// SPDX-License-Identifier: MIT
// Copies, fills and host kernels over plain memory.
#include "backends/cpu/host_work.h"

#include <cstring>
#include <new>

#include "evidence/base/status.h"

namespace keysieve::backends {
namespace {

constexpr std::align_val_t kAlignment{64};

}  // namespace

absl::StatusOr<std::shared_ptr<HostMemory>> HostMemory::Create(std::shared_ptr<MemoryBudget> budget,
                                                               uint64_t bytes) {
  KS_RETURN_IF_ERROR(budget->Take(bytes));
  auto* data = static_cast<std::byte*>(::operator new(bytes, kAlignment, std::nothrow));
  if (data == nullptr) {
    budget->GiveBack(bytes);
    return absl::ResourceExhaustedError(Cat("the host has no ", bytes, " bytes of memory left"));
  }
  return std::make_shared<HostMemory>(std::move(budget), data, bytes);
}

HostMemory::~HostMemory() {
  ::operator delete(data_, kAlignment);
  budget_->GiveBack(bytes_);
}

absl::Status CheckHostImage(const Image& image) {
  if (image.host != nullptr) return absl::OkStatus();
  return absl::InvalidArgumentError(Cat("image \"", image.name, "\" has no host kernel"));
}

void RunInline(uint32_t count, const std::function<void(uint32_t)>& run) {
  for (uint32_t i = 0; i < count; ++i) run(i);
}

HostWork::Range HostWork::Retain(const BufferRange& range) {
  return {static_cast<const HostBuffer*>(range.buffer)->memory(), range.offset, range.bytes};
}

std::vector<HostWork::HostCopy> HostWork::Retain(std::span<const Copy> copies) {
  std::vector<HostCopy> retained;
  retained.reserve(copies.size());
  for (const Copy& copy : copies) retained.push_back({Retain(copy.from), Retain(copy.to)});
  return retained;
}

HostWork HostWork::Retain(const Submission& submission) {
  HostWork work;
  for (const Fill& fill : submission.fills) work.fills_.push_back({Retain(fill.range), fill.word});
  work.uploads_ = Retain(submission.uploads);
  work.readbacks_ = Retain(submission.readbacks);
  if (submission.launch != nullptr) {
    const Launch& launch = *submission.launch;
    work.kernel_ = static_cast<const HostProgram*>(launch.program)->kernel();
    work.state_ = static_cast<const HostProgram*>(launch.program)->state();
    for (const BufferRange& range : launch.bindings) work.bindings_.push_back(Retain(range));
    work.constants_.assign(launch.constants.begin(), launch.constants.end());
    work.workgroups_ = launch.workgroups;
  }
  return work;
}

void HostWork::Run(std::span<const HostCopy> copies) {
  for (const HostCopy& copy : copies) {
    if (copy.from.bytes > 0) std::memcpy(copy.to.data(), copy.from.data(), copy.from.bytes);
  }
}

void HostWork::RunFillsAndUploads() const {
  for (const HostFill& fill : fills_) {
    for (uint64_t at = 0; at < fill.range.bytes; at += sizeof(fill.word)) {
      std::memcpy(fill.range.data() + at, &fill.word, sizeof(fill.word));
    }
  }
  Run(uploads_);
}

void HostWork::RunLaunch(const WorkgroupRunner& runner) const {
  if (kernel_ == nullptr) return;
  std::vector<std::span<std::byte>> bindings;
  bindings.reserve(bindings_.size());
  for (const Range& range : bindings_) bindings.emplace_back(range.data(), range.bytes);
  runner(workgroups_, [&](uint32_t workgroup) {
    kernel_({.bindings = bindings,
             .constants = constants_,
             .workgroup = workgroup,
             .workgroups = workgroups_,
             .state = state_.get()});
  });
}

void HostWork::RunReadbacks() const { Run(readbacks_); }

std::vector<std::vector<std::byte>> HostWork::SnapshotReadbacks() const {
  std::vector<std::vector<std::byte>> snapshot;
  for (const HostCopy& copy : readbacks_) {
    snapshot.emplace_back(copy.from.data(), copy.from.data() + copy.from.bytes);
  }
  return snapshot;
}

void HostWork::Deliver(std::span<const std::vector<std::byte>> snapshot) const {
  for (size_t i = 0; i < snapshot.size() && i < readbacks_.size(); ++i) {
    if (!snapshot[i].empty()) {
      std::memcpy(readbacks_[i].to.data(), snapshot[i].data(), snapshot[i].size());
    }
  }
}

}  // namespace keysieve::backends
