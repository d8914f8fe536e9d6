// SPDX-License-Identifier: MIT
// The table of results. What is not listed is an internal error and a dispatch fault.
#include "backends/cuda/errors.h"

#include "evidence/base/status.h"

namespace keysieve::backends::cuda {
namespace {

using absl::StatusCode;
using evidence::FaultKind;

struct Meaning {
  StatusCode code;
  std::optional<FaultKind> fault;
};

constexpr Meaning kLost{StatusCode::kDataLoss, FaultKind::kDeviceLost};
constexpr Meaning kNoMemory{StatusCode::kResourceExhausted, FaultKind::kOutOfMemory};
constexpr Meaning kBadProgram{StatusCode::kInvalidArgument, std::nullopt};
constexpr Meaning kAbsent{StatusCode::kUnavailable, std::nullopt};
constexpr Meaning kNotOffered{StatusCode::kUnimplemented, std::nullopt};
constexpr Meaning kFailed{StatusCode::kInternal, FaultKind::kDispatch};

// Sticky errors: the context is gone and every later call says so again.
bool LosesDevice(cudaError_t result) {
  switch (result) {
    case cudaErrorCudartUnloading:
    case cudaErrorDevicesUnavailable:
    case cudaErrorPriorLaunchFailure:
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorContained:
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorContextIsDestroyed:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
    case cudaErrorTensorMemoryLeak:
    case cudaErrorMpsRpcFailure:
    case cudaErrorMpsClientTerminated:
    case cudaErrorExternalDevice:
      return true;
    default:
      return false;
  }
}

bool RefusesProgram(cudaError_t result) {
  switch (result) {
    case cudaErrorInvalidConfiguration:
    case cudaErrorInvalidDeviceFunction:
    case cudaErrorInvalidKernelImage:
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorInvalidPtx:
    case cudaErrorUnsupportedPtxVersion:
    case cudaErrorJitCompilerNotFound:
    case cudaErrorJitCompilationDisabled:
    case cudaErrorInvalidSource:
    case cudaErrorSymbolNotFound:
    case cudaErrorLaunchOutOfResources:
      return true;
    default:
      return false;
  }
}

bool HasNoDevice(cudaError_t result) {
  switch (result) {
    case cudaErrorInitializationError:
    case cudaErrorStubLibrary:
    case cudaErrorInsufficientDriver:
    case cudaErrorIncompatibleDriverContext:
    case cudaErrorNoDevice:
    case cudaErrorInvalidDevice:
    case cudaErrorDeviceNotLicensed:
    case cudaErrorSoftwareValidityNotEstablished:
    case cudaErrorStartupFailure:
    case cudaErrorSharedObjectSymbolNotFound:
    case cudaErrorSharedObjectInitFailed:
    case cudaErrorOperatingSystem:
    case cudaErrorSystemNotReady:
    case cudaErrorSystemDriverMismatch:
    case cudaErrorCompatNotSupportedOnDevice:
    case cudaErrorMpsConnectionFailed:
    case cudaErrorMpsServerNotReady:
    case cudaErrorMpsMaxClientsReached:
    case cudaErrorMpsMaxConnectionsReached:
      return true;
    default:
      return false;
  }
}

Meaning MeaningOf(cudaError_t result) {
  if (result == cudaSuccess) return {StatusCode::kOk, std::nullopt};
  if (result == cudaErrorNotReady) return {StatusCode::kDeadlineExceeded, std::nullopt};
  if (LosesDevice(result)) return kLost;
  if (RefusesProgram(result)) return kBadProgram;
  if (HasNoDevice(result)) return kAbsent;
  switch (result) {
    case cudaErrorMemoryAllocation:
    case cudaErrorLaunchPendingCountExceeded:
      return kNoMemory;
    case cudaErrorNotYetImplemented:
    case cudaErrorCallRequiresNewerDriver:
    case cudaErrorNotPermitted:
    case cudaErrorNotSupported:
      return kNotOffered;
    default:
      return kFailed;
  }
}

}  // namespace

absl::Status StatusOf(cudaError_t result, std::string_view what) {
  const Meaning meaning = MeaningOf(result);
  if (meaning.code == StatusCode::kOk) return absl::OkStatus();
  return absl::Status(
      meaning.code, Cat(what, ": ", cudaGetErrorName(result), " (", static_cast<int>(result), "), ",
                        cudaGetErrorString(result)));
}

std::optional<FaultKind> FaultOf(cudaError_t result) { return MeaningOf(result).fault; }

}  // namespace keysieve::backends::cuda
