// SPDX-License-Identifier: MIT
#include "tests/backends/device_fixture.h"

#include <algorithm>

#include "backends/registry.h"

namespace keysieve::test {

using backends::Buffer;
using backends::BufferRange;
using backends::Copy;
using backends::Fill;
using backends::Launch;
using backends::MemoryKind;
using backends::StageTimes;
using backends::Ticket;
using evidence::Traffic;

std::vector<Subject> Subjects() {
  std::vector<Subject> subjects;
  for (const auto kind : {backends::BackendKind::kCpu, backends::BackendKind::kVulkan,
                          backends::BackendKind::kCuda}) {
    const backends::ProbeResult seen = backends::ProbeAdapters(kind);
    for (const backends::Identity& identity : seen.adapters) {
      subjects.push_back({kind, identity, ""});
    }
    if (seen.adapters.empty()) subjects.push_back({kind, std::nullopt, seen.reason});
  }
  return subjects;
}

std::string SubjectName(const testing::TestParamInfo<Subject>& info) {
  const std::string backend(backends::BackendName(info.param.backend));
  return backend + "_" +
         (info.param.identity ? std::to_string(info.param.identity->index) : "absent");
}

std::span<uint32_t> ProbeSet::staged_in() const {
  return {reinterpret_cast<uint32_t*>(staging->host()), count};
}
std::span<uint32_t> ProbeSet::staged_out() const {
  return {reinterpret_cast<uint32_t*>(staging->host()) + count, count};
}
uint32_t ProbeSet::staged_tally() const {
  return reinterpret_cast<uint32_t*>(staging->host())[2 * count];
}

void DeviceTest::SetUp() {
  if (!GetParam().identity) {
    GTEST_SKIP() << "no " << backends::BackendName(GetParam().backend)
                 << " device: " << GetParam().reason;
  }
  auto device = backends::OpenDevice(*GetParam().identity, {.recorder = &recorder_});
  ASSERT_TRUE(device.ok()) << device.status();
  device_ = *std::move(device);
  auto probe = device_->Load(ProbeImage(GetParam().backend));
  ASSERT_TRUE(probe.ok()) << probe.status();
  probe_ = *std::move(probe);
}

std::unique_ptr<Buffer> DeviceTest::Get(MemoryKind kind, uint64_t bytes) {
  auto buffer = device_->Allocate(kind, bytes);
  EXPECT_TRUE(buffer.ok()) << buffer.status();
  return buffer.ok() ? *std::move(buffer) : nullptr;
}

ProbeSet DeviceTest::MakeSet(uint32_t count) {
  ProbeSet set;
  set.count = count;
  set.skip = device_->limits().offset_alignment * 3;
  const uint64_t bytes = uint64_t{count} * 4;
  set.staging = Get(MemoryKind::kPinned, 2 * bytes + 4);
  set.in = Get(MemoryKind::kDevice, set.skip + bytes);
  set.out = Get(MemoryKind::kDevice, set.skip + bytes);
  set.tally = Get(MemoryKind::kDevice, set.skip + 4);
  return set;
}

absl::StatusOr<Ticket> DeviceTest::SubmitProbe(const ProbeSet& set, uint32_t addend,
                                               uint32_t rounds) {
  const uint64_t bytes = uint64_t{set.count} * 4;
  const BufferRange in{set.in.get(), set.skip, bytes};
  const BufferRange out{set.out.get(), set.skip, bytes};
  const BufferRange tally{set.tally.get(), set.skip, 4};
  const Fill fills[] = {{tally, 0}, {out, 0xDEADBEEF}};
  const Copy uploads[] = {{{set.staging.get(), 0, bytes}, in, Traffic::kText}};
  const BufferRange bindings[] = {in, out, tally};
  const uint32_t constants[] = {set.count, addend, rounds};
  const Launch launch{.program = probe_.get(),
                      .bindings = bindings,
                      .constants = constants,
                      .workgroups = (set.count + kProbeWidth - 1) / kProbeWidth};
  const Copy readbacks[] = {{out, {set.staging.get(), bytes, bytes}, Traffic::kHits},
                            {tally, {set.staging.get(), 2 * bytes, 4}, Traffic::kControl}};
  return device_->Submit(
      {.fills = fills, .uploads = uploads, .launch = &launch, .readbacks = readbacks});
}

StageTimes DeviceTest::WaitFor(Ticket ticket) {
  const auto times = device_->Wait(ticket, In(std::chrono::seconds(120)));
  EXPECT_TRUE(times.ok()) << times.status();
  return times.ok() ? *times : StageTimes{};
}

}  // namespace keysieve::test
