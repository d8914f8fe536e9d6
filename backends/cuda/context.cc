// SPDX-License-Identifier: MIT
// Opens a device and finds the driver functions.
#include "backends/cuda/context.h"

#include "backends/cuda/adapters.h"
#include "backends/cuda/errors.h"
#include "evidence/base/status.h"

namespace keysieve::backends::cuda {
namespace {

constexpr unsigned int kDriverVersion = 12000;  // of the functions' signatures

template <typename Function>
absl::Status Find(const char* name, Function& function) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult answer = cudaDriverEntryPointSymbolNotFound;
  const cudaError_t result =
      cudaGetDriverEntryPointByVersion(name, &found, kDriverVersion, cudaEnableDefault, &answer);
  if (result != cudaSuccess || answer != cudaDriverEntryPointSuccess || found == nullptr) {
    return absl::UnavailableError(
        Cat("the CUDA driver has no ", name, "; install one for CUDA 12 or later"));
  }
  function = reinterpret_cast<Function>(found);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::shared_ptr<Context>> Context::Create(const Identity& identity,
                                                         evidence::DeviceRecorder* recorder) {
  std::shared_ptr<Context> context(new Context(identity, recorder));
  if (absl::Status opened = context->Open(); !opened.ok()) {
    cudaGetLastError();
    return absl::UnavailableError(Cat("cuda device ", identity.index, " (", identity.name,
                                      ") cannot start: ", Message(opened)));
  }
  return context;
}

absl::Status Context::Open() {
  cudaDeviceProp properties{};
  KS_RETURN_IF_ERROR(
      StatusOf(cudaGetDeviceProperties(&properties, identity_.index), "reading the device"));
  limits_ = LimitsOf(properties);
  threads_per_multiprocessor_ = static_cast<uint32_t>(properties.maxThreadsPerMultiProcessor);
  KS_RETURN_IF_ERROR(StatusOf(cudaSetDevice(identity_.index), "making a context"));
  KS_RETURN_IF_ERROR(Find("cuMemsetD32Async", driver_.memset32));
  return Find("cuStreamWriteValue32", driver_.write_word);
}

absl::Status Context::Use() { return Check(cudaSetDevice(identity_.index), "using the device"); }

absl::Status Context::Check(cudaError_t result, std::string_view what) {
  if (result == cudaSuccess) return absl::OkStatus();
  cudaGetLastError();  // what is not sticky must not surface again in a later call
  return faults_.Record(FaultOf(result), StatusOf(result, Cat(what, " on ", identity_.name)));
}

}  // namespace keysieve::backends::cuda
