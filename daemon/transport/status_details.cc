// SPDX-License-Identifier: MIT
// Details as they travel in grpc-status-details-bin; see status_details.h.
#include "daemon/transport/status_details.h"

#include <google/rpc/error_details.pb.h>
#include <google/rpc/status.pb.h>

#include "evidence/utf8.h"

namespace keysieve::transport {
namespace {

// The trailer holds the sentence twice, and clients bound their headers to 8 KiB.
constexpr size_t kMaxMessage = 1500;

std::string Sentence(const std::string& message) {
  return evidence::ValidUtf8(message.substr(0, kMaxMessage));
}

}  // namespace

grpc::Status ToGrpcStatus(const pipeline::Failure& failure) {
  const std::string message = Sentence(failure.message);
  google::rpc::Status status;
  status.set_code(static_cast<int>(failure.code));
  status.set_message(message);
  google::rpc::ErrorInfo info;
  info.set_reason(failure.reason);
  info.set_domain(kErrorDomain);
  status.add_details()->PackFrom(info);
  if (failure.retry_after) {
    google::rpc::RetryInfo retry;
    const int64_t ms = failure.retry_after->count();
    retry.mutable_retry_delay()->set_seconds(ms / 1000);
    retry.mutable_retry_delay()->set_nanos(static_cast<int32_t>(ms % 1000) * 1'000'000);
    status.add_details()->PackFrom(retry);
  }
  if (!failure.field.empty()) {
    google::rpc::BadRequest bad;
    auto* violation = bad.add_field_violations();
    violation->set_field(failure.field);
    violation->set_description(message);
    status.add_details()->PackFrom(bad);
  }
  return {static_cast<grpc::StatusCode>(failure.code), message, status.SerializeAsString()};
}

const char* CodeName(grpc::StatusCode code) {
  static constexpr const char* kNames[] = {"OK",
                                           "CANCELLED",
                                           "UNKNOWN",
                                           "INVALID_ARGUMENT",
                                           "DEADLINE_EXCEEDED",
                                           "NOT_FOUND",
                                           "ALREADY_EXISTS",
                                           "PERMISSION_DENIED",
                                           "RESOURCE_EXHAUSTED",
                                           "FAILED_PRECONDITION",
                                           "ABORTED",
                                           "OUT_OF_RANGE",
                                           "UNIMPLEMENTED",
                                           "INTERNAL",
                                           "UNAVAILABLE",
                                           "DATA_LOSS",
                                           "UNAUTHENTICATED"};
  const auto index = static_cast<size_t>(code);
  return index < std::size(kNames) ? kNames[index] : "UNKNOWN";
}

}  // namespace keysieve::transport
