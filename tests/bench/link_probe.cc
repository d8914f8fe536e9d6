// SPDX-License-Identifier: MIT
#include "tests/bench/link_probe.h"

#include <algorithm>

#include "evidence/base/status.h"

namespace keysieve::bench {

using backends::Clock;

absl::StatusOr<std::unique_ptr<LinkProbe>> LinkProbe::Open(backends::Device& device) {
  if (LinkProbeCode().empty() || device.identity().backend != backends::BackendKind::kCuda) {
    return absl::UnavailableError("the link probe is built for CUDA alone");
  }
  std::unique_ptr<LinkProbe> probe(new LinkProbe(device));
  const backends::Image image{.backend = backends::BackendKind::kCuda,
                              .name = "link_probe",
                              .code = LinkProbeCode(),
                              .entry = "link_probe",
                              .bindings = 2,
                              .constants = 1,
                              .workgroup_size = 512};
  KS_ASSIGN_OR_RETURN(probe->program_, device.Load(image));
  KS_ASSIGN_OR_RETURN(probe->sink_, device.Allocate(backends::MemoryKind::kDevice, 4096));
  return probe;
}

absl::StatusOr<double> LinkProbe::ReadPinned(const backends::Buffer& pinned, uint64_t bytes) {
  const uint64_t size = std::min(bytes, pinned.size()) / 65536 * 65536;
  const backends::BufferRange bindings[] = {{&pinned, 0, size}, {sink_.get(), 0, 4096}};
  const uint32_t constants[] = {static_cast<uint32_t>(size / 16)};
  const backends::Launch launch{
      .program = program_.get(), .bindings = bindings, .constants = constants, .workgroups = 32};
  KS_ASSIGN_OR_RETURN(const auto ticket, device_.Submit({.launch = &launch}));
  KS_ASSIGN_OR_RETURN(const auto times,
                      device_.Wait(ticket, Clock::now() + std::chrono::minutes(1)));
  last_bytes_ = size;
  return static_cast<double>(times.kernel_ns.value_or(times.submit_to_complete_ns)) * 1e-9;
}

}  // namespace keysieve::bench
