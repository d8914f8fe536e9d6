// SPDX-License-Identifier: MIT
// W3C trace context, as far as a log needs it: the trace's id out of a `traceparent` header.
//
//   TraceId("00-" + trace + "-" + parent + "-01") == trace
#pragma once

#include <string>
#include <string_view>

namespace keysieve::transport {

// 32 lower-case hex digits, or nothing: a malformed header is ignored, as the standard asks. Takes
// every version but the forbidden ff; versions after 00 may carry more fields behind a dash.
std::string TraceId(std::string_view traceparent);

}  // namespace keysieve::transport
