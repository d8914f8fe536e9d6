// SPDX-License-Identifier: MIT
// version "-" trace-id "-" parent-id "-" flags; see trace.h.
#include "daemon/transport/trace.h"

namespace keysieve::transport {
namespace {

bool IsHex(std::string_view text) {
  return text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

bool IsZero(std::string_view text) { return text.find_first_not_of('0') == std::string_view::npos; }

}  // namespace

std::string TraceId(std::string_view traceparent) {
  constexpr size_t kTrace = 3;
  constexpr size_t kParent = 36;
  constexpr size_t kFlags = 53;
  constexpr size_t kLength = 55;
  if (traceparent.size() < kLength) return "";
  const std::string_view version = traceparent.substr(0, 2);
  const std::string_view trace = traceparent.substr(kTrace, 32);
  const std::string_view parent = traceparent.substr(kParent, 16);
  const std::string_view flags = traceparent.substr(kFlags, 2);
  for (const size_t dash : {kTrace - 1, kParent - 1, kFlags - 1}) {
    if (traceparent[dash] != '-') return "";
  }
  if (!IsHex(version) || !IsHex(trace) || !IsHex(parent) || !IsHex(flags)) return "";
  if (version == "ff" || IsZero(trace) || IsZero(parent)) return "";
  if (traceparent.size() > kLength && (version == "00" || traceparent[kLength] != '-')) return "";
  return std::string(trace);
}

}  // namespace keysieve::transport
