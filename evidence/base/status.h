// SPDX-License-Identifier: MIT
// Status helpers every room uses: two macros that return early and Cat(), which builds messages.
// Debian's absl::string_view does not convert from std::string_view, so messages are built here and
// handed to Abseil as std::string.
//
//   KS_ASSIGN_OR_RETURN(auto table, CompileTable(literals));
//   return absl::InvalidArgumentError(Cat("slot count ", n, " is no multiple of ", width));
#pragma once

#include <sstream>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace keysieve {

// Concatenates the streamable arguments. Not for hot paths.
template <typename... Parts>
std::string Cat(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
}

// The message of `status` as a standard string.
inline std::string Message(const absl::Status& status) {
  return std::string(status.message().data(), status.message().size());
}

}  // namespace keysieve

#define KS_CONCAT_INNER_(a, b) a##b
#define KS_CONCAT_(a, b) KS_CONCAT_INNER_(a, b)

#define KS_RETURN_IF_ERROR(expr)                                               \
  do {                                                                         \
    if (absl::Status ks_status_ = (expr); !ks_status_.ok()) return ks_status_; \
  } while (false)

#define KS_ASSIGN_OR_RETURN(lhs, expr) \
  KS_ASSIGN_OR_RETURN_IMPL_(KS_CONCAT_(ks_or_, __LINE__), lhs, expr)
#define KS_ASSIGN_OR_RETURN_IMPL_(tmp, lhs, expr) \
  auto tmp = (expr);                              \
  if (!tmp.ok()) return tmp.status();             \
  lhs = *std::move(tmp)
