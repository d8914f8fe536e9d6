// SPDX-License-Identifier: MIT
// What is CUDA's own: its table of results, fat binaries, life without a driver, resident kernels.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <vector>

#include "backends/cuda/errors.h"
#include "backends/cuda/program.h"
#include "backends/registry.h"
#include "evidence/base/status.h"
#include "tests/backends/device_fixture.h"
#include "tests/backends/images/probe_kernel.h"

extern "C" const std::byte ks_resident_begin[];
extern "C" const std::byte ks_resident_end[];

namespace keysieve::backends::cuda {
namespace {

using absl::StatusCode;
using evidence::FaultKind;
using testing::HasSubstr;

TEST(CudaErrors, EachResultHasItsStatusAndItsFault) {
  const struct {
    cudaError_t result;
    StatusCode code;
    std::optional<FaultKind> fault;
  } rows[] = {
      {cudaSuccess, StatusCode::kOk, std::nullopt},
      {cudaErrorNotReady, StatusCode::kDeadlineExceeded, std::nullopt},
      {cudaErrorMemoryAllocation, StatusCode::kResourceExhausted, FaultKind::kOutOfMemory},
      {cudaErrorIllegalAddress, StatusCode::kDataLoss, FaultKind::kDeviceLost},
      {cudaErrorLaunchFailure, StatusCode::kDataLoss, FaultKind::kDeviceLost},
      {cudaErrorLaunchTimeout, StatusCode::kDataLoss, FaultKind::kDeviceLost},
      {cudaErrorECCUncorrectable, StatusCode::kDataLoss, FaultKind::kDeviceLost},
      {cudaErrorDevicesUnavailable, StatusCode::kDataLoss, FaultKind::kDeviceLost},
      {cudaErrorMisalignedAddress, StatusCode::kDataLoss, FaultKind::kDeviceLost},
      {cudaErrorNoDevice, StatusCode::kUnavailable, std::nullopt},
      {cudaErrorInsufficientDriver, StatusCode::kUnavailable, std::nullopt},
      {cudaErrorNoKernelImageForDevice, StatusCode::kInvalidArgument, std::nullopt},
      {cudaErrorSymbolNotFound, StatusCode::kInvalidArgument, std::nullopt},
      {cudaErrorInvalidConfiguration, StatusCode::kInvalidArgument, std::nullopt},
      {cudaErrorNotSupported, StatusCode::kUnimplemented, std::nullopt},
      {cudaErrorInvalidValue, StatusCode::kInternal, FaultKind::kDispatch},
      {cudaErrorUnknown, StatusCode::kInternal, FaultKind::kDispatch},
      {cudaErrorProfilerDisabled, StatusCode::kInternal, FaultKind::kDispatch},
  };
  for (const auto& row : rows) {
    const absl::Status status = StatusOf(row.result, "testing");
    EXPECT_EQ(status.code(), row.code) << row.result << ": " << status;
    EXPECT_EQ(FaultOf(row.result), row.fault) << row.result;
    EXPECT_THAT(Message(status), HasSubstr(status.ok() ? "" : "testing: "));
  }
  EXPECT_THAT(Message(StatusOf(cudaErrorIllegalAddress, "")), HasSubstr("cudaErrorIllegalAddress"));
}

TEST(CudaProgram, OnlyAWholeFatBinaryIsLoaded) {
  const Image image = test::ProbeImage(BackendKind::kCuda);
  ASSERT_TRUE(CheckFatBinary("probe", image.code).ok());
  for (const size_t size : {size_t{0}, size_t{15}, size_t{16}, image.code.size() / 2}) {
    EXPECT_EQ(CheckFatBinary("probe", image.code.first(size)).code(), StatusCode::kInvalidArgument)
        << size;
  }
  std::vector<std::byte> bent(image.code.begin(), image.code.end());
  bent[0] ^= std::byte{1};
  EXPECT_EQ(CheckFatBinary("probe", bent).code(), StatusCode::kInvalidArgument);
}

TEST(CudaProbe, WithoutADriverThereIsAReasonAndNoFailure) {
  const ProbeResult seen = ProbeAdapters(BackendKind::kCuda);
  if (!seen.adapters.empty()) GTEST_SKIP() << "this machine has " << seen.adapters.front().name;
  EXPECT_THAT(seen.reason, HasSubstr("CUDA"));
  const auto device = OpenDevice({.backend = BackendKind::kCuda, .name = "none"}, {});
  EXPECT_EQ(device.status().code(), StatusCode::kUnavailable) << device.status();
  const auto choice = SelectDevices({.backend = "cuda"});
  EXPECT_EQ(choice.status().code(), StatusCode::kUnavailable);
  EXPECT_THAT(Message(choice.status()), HasSubstr(seen.reason));
}

// Tests that need a device; a machine without one says why it skips.
class CudaTest : public testing::Test {
 protected:
  void SetUp() override {
    const ProbeResult seen = ProbeAdapters(BackendKind::kCuda);
    if (seen.adapters.empty()) GTEST_SKIP() << seen.reason;
    auto device = OpenDevice(seen.adapters.front(), {.recorder = &recorder_});
    ASSERT_TRUE(device.ok()) << device.status();
    device_ = *std::move(device);
  }

  test::CountingRecorder recorder_;
  std::unique_ptr<Device> device_;
};

TEST_F(CudaTest, WhatItCanReadItReads) {
  const auto probe = device_->Load(test::ProbeImage(BackendKind::kCuda));
  ASSERT_TRUE(probe.ok()) << probe.status();
  auto memory = *device_->Allocate(MemoryKind::kDevice, 4096);
  const BufferRange bindings[] = {
      {memory.get(), 0, 256}, {memory.get(), 256, 256}, {memory.get(), 512, 4}};
  const uint32_t constants[] = {64, 0, 0};
  const Launch launch{probe->get(), bindings, constants, 1};
  ASSERT_TRUE(
      device_->Wait(*device_->Submit({.launch = &launch}), test::In(std::chrono::seconds(60)))
          .ok());
  EXPECT_TRUE(device_->capabilities().kernel_timestamps);
  EXPECT_TRUE(device_->capabilities().occupancy);
  EXPECT_FALSE(device_->capabilities().stall_counters);
  const auto sample = device_->ReadSample();
  ASSERT_TRUE(sample.ok()) << sample.status();
  ASSERT_TRUE(sample->occupancy_ratio.has_value());
  EXPECT_GT(*sample->occupancy_ratio, 0.0);
  EXPECT_LE(*sample->occupancy_ratio, 1.0);
  EXPECT_EQ(sample->utilization_ratio.has_value(), device_->capabilities().utilization);
}

TEST_F(CudaTest, AnEntryThatIsNotThereIsRefused) {
  Image image = test::ProbeImage(BackendKind::kCuda);
  image.entry = "elsewhere";
  EXPECT_EQ(device_->Load(image).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(recorder_.faults_in_all(), 0u);
}

TEST_F(CudaTest, AResidentKernelServesWordsUntilItIsToldToStop) {
  const auto program = device_->Load({.backend = BackendKind::kCuda,
                                      .name = "resident",
                                      .code = {ks_resident_begin, ks_resident_end},
                                      .entry = "resident",
                                      .bindings = 3});
  ASSERT_TRUE(program.ok()) << program.status();
  auto bell = *device_->Allocate(MemoryKind::kDevice, 4);
  auto data = *device_->Allocate(MemoryKind::kDevice, 256);
  auto staging = *device_->Allocate(MemoryKind::kPinned, 256);
  auto answers = *device_->Allocate(MemoryKind::kPinned, 8);
  auto* answer = reinterpret_cast<uint32_t*>(answers->host());
  answer[0] = answer[1] = 0;
  const Fill silence[] = {{{bell.get(), 0, 4}, 0}};
  ASSERT_TRUE(
      device_->Wait(*device_->Submit({.fills = silence}), test::In(std::chrono::seconds(60))).ok());
  const BufferRange bindings[] = {{bell.get(), 0, 4}, {data.get(), 0, 256}, {answers.get(), 0, 8}};
  const auto resident = device_->StartResident({.program = program->get(), .bindings = bindings});
  ASSERT_TRUE(resident.ok()) << resident.status();
  const Copy upload[] = {{{staging.get(), 0, 256}, {data.get(), 0, 256}, evidence::Traffic::kText}};
  for (uint32_t round = 1; round <= 100; ++round) {
    for (uint32_t i = 0; i < 64; ++i) {
      reinterpret_cast<uint32_t*>(staging->host())[i] = round * 100 + i;
    }
    const auto rung = device_->CopyThenWriteWord(upload, {bell.get(), 0, 4}, round);
    ASSERT_TRUE(rung.ok()) << rung.status();
    const auto copied = device_->Wait(*rung, test::In(std::chrono::seconds(60)));
    ASSERT_TRUE(copied.ok()) << copied.status();
    EXPECT_GT(copied->upload_ns.value_or(0), 0u);
    const auto give_up = test::In(std::chrono::seconds(60));
    while (std::atomic_ref(answer[0]).load() != round && Clock::now() < give_up) {
    }
    ASSERT_EQ(answer[0], round);
    ASSERT_EQ(answer[1], 64 * 100 * round + 64 * 63 / 2);
  }
  EXPECT_FALSE(device_->Done(*resident));
  const auto stop = device_->CopyThenWriteWord({}, {bell.get(), 0, 4}, 0xFFFFFFFF);
  ASSERT_TRUE(device_->Wait(*stop, test::In(std::chrono::seconds(60))).ok());
  const auto times = device_->Wait(*resident, test::In(std::chrono::seconds(60)));
  ASSERT_TRUE(times.ok()) << times.status();
  EXPECT_GT(times->kernel_ns.value_or(0), 0u);
  EXPECT_EQ(recorder_.completed.size(), 1u) << "the fill; the words are their caller's to record";
}

}  // namespace
}  // namespace keysieve::backends::cuda
