// SPDX-License-Identifier: MIT
// A pipeline's failure as a gRPC status: the code, the sentence, and google.rpc details for
// programs (ErrorInfo always, RetryInfo when trying again can help, BadRequest when a field is to
// blame).
#pragma once

#include <grpcpp/support/status.h>

#include <string>

#include "daemon/scan_types.h"

namespace keysieve::transport {

inline constexpr char kErrorDomain[] = "keysieve";

grpc::Status ToGrpcStatus(const pipeline::Failure& failure);

// "OK", "INVALID_ARGUMENT", ...: the metric label.
const char* CodeName(grpc::StatusCode code);

}  // namespace keysieve::transport
