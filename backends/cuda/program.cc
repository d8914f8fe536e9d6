// SPDX-License-Identifier: MIT
// Loads fat binaries and launches kernels.
#include "backends/cuda/program.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>

#include "backends/check.h"
#include "backends/cuda/calling_convention.h"
#include "backends/cuda/memory.h"
#include "evidence/base/status.h"

namespace keysieve::backends::cuda {
namespace {

static_assert(sizeof(CudaConstants) == kMaxConstants * sizeof(uint32_t));

constexpr uint32_t kFatBinaryMagic = 0xBA55ED50;
constexpr uint32_t kSharedWithoutAsking = 48 * 1024;  // bytes; more must be asked for

struct FatBinaryHeader {
  uint32_t magic = 0;
  uint16_t version = 0;
  uint16_t header_bytes = 0;
  uint64_t body_bytes = 0;
};

}  // namespace

absl::Status CheckFatBinary(std::string_view name, std::span<const std::byte> code) {
  FatBinaryHeader header;
  if (code.size() >= sizeof header) std::memcpy(&header, code.data(), sizeof header);
  const bool whole = header.magic == kFatBinaryMagic && header.header_bytes <= code.size() &&
                     header.body_bytes <= code.size() - header.header_bytes;
  if (whole) return absl::OkStatus();
  return absl::InvalidArgumentError(
      Cat("image \"", name, "\" of ", code.size(), " bytes is no whole fat binary"));
}

absl::StatusOr<std::unique_ptr<CudaProgram>> CudaProgram::Create(std::shared_ptr<Context> context,
                                                                 const Image& image) {
  KS_RETURN_IF_ERROR(CheckFatBinary(image.name, image.code));
  std::unique_ptr<CudaProgram> program(new CudaProgram(std::move(context), image));
  const Clock::time_point begun = Clock::now();
  KS_RETURN_IF_ERROR(program->LoadCode(image));
  KS_RETURN_IF_ERROR(program->ReadKernel());
  if (evidence::DeviceRecorder* recorder = program->context_->recorder(); recorder != nullptr) {
    recorder->Compiled(static_cast<uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - begun).count()));
  }
  return program;
}

CudaProgram::~CudaProgram() {
  if (library_ == nullptr || context_->abandoned()) return;
  cudaSetDevice(context_->identity().index);
  cudaLibraryUnload(library_);
}

absl::Status CudaProgram::LoadCode(const Image& image) {
  const std::string what = Cat("loading \"", image.name, "\"");
  KS_RETURN_IF_ERROR(context_->Check(
      cudaLibraryLoadData(&library_, image.code.data(), nullptr, nullptr, 0, nullptr, nullptr, 0),
      what));
  const std::string entry(image.entry);
  return context_->Check(cudaLibraryGetKernel(&kernel_, library_, entry.c_str()),
                         Cat(what, ", finding entry \"", entry, "\""));
}

absl::Status CudaProgram::ReadKernel() {
  const std::string what = Cat("reading \"", shape().name, "\"");
  const void* kernel = static_cast<const void*>(kernel_);
  cudaFuncAttributes attributes{};
  KS_RETURN_IF_ERROR(context_->Check(cudaFuncGetAttributes(&attributes, kernel), what));
  if (shape().workgroup_size > static_cast<uint32_t>(attributes.maxThreadsPerBlock)) {
    return absl::InvalidArgumentError(
        Cat("image \"", shape().name, "\" runs in workgroups of ", attributes.maxThreadsPerBlock,
            " at most on ", context_->identity().name, ", not ", shape().workgroup_size));
  }
  if (shape().shared_bytes > kSharedWithoutAsking) {
    KS_RETURN_IF_ERROR(context_->Check(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             static_cast<int>(shape().shared_bytes)),
        Cat(what, ", asking for ", shape().shared_bytes, " bytes of shared memory")));
  }
  int blocks = 0;
  KS_RETURN_IF_ERROR(context_->Check(
      cudaOccupancyMaxActiveBlocksPerMultiprocessor(
          &blocks, kernel, static_cast<int>(shape().workgroup_size), shape().shared_bytes),
      what));
  const double room = context_->threads_per_multiprocessor();
  occupancy_ = room > 0 ? blocks * static_cast<double>(shape().workgroup_size) / room : 0;
  return absl::OkStatus();
}

absl::Status CudaProgram::Enqueue(const Launch& launch, cudaStream_t stream) const {
  std::array<void*, kMaxBindings> pointers{};
  std::array<void*, kMaxBindings + 1> arguments{};
  const size_t count = launch.bindings.size();
  for (size_t i = 0; i < count; ++i) {
    pointers[i] = AddressOf(launch.bindings[i]);
    arguments[i] = &pointers[i];
  }
  CudaConstants constants{};
  std::copy(launch.constants.begin(), launch.constants.end(), constants.words);
  arguments[count] = &constants;
  return context_->Check(cudaLaunchKernel(static_cast<const void*>(kernel_),
                                          dim3(launch.workgroups), dim3(shape().workgroup_size),
                                          arguments.data(), shape().shared_bytes, stream),
                         Cat("launching \"", shape().name, "\""));
}

}  // namespace keysieve::backends::cuda
