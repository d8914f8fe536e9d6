// SPDX-License-Identifier: MIT
// The operators' HTTP endpoint: /metrics, /-/healthy, /-/ready and the status page at / with what
// it loads. It reads and never changes anything.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "daemon/config/values.h"

struct mg_context;
struct mg_connection;

namespace keysieve::admin {

// What the pages show; called from the endpoint's threads, perhaps from two at once.
struct HttpPages {
  std::function<std::string()> metrics;  // Prometheus text
  std::function<bool()> ready;           // takes scans: lanes open, not draining
  std::function<std::string()> front;    // the page at /, HTML
  std::function<std::string()> live;     // what changes of it
  std::string_view style = {};           // CSS; both outlive the endpoint
  std::string_view script = {};          // JavaScript
};

class HttpEndpoint {
 public:
  // UNAVAILABLE names the address.
  static absl::StatusOr<std::unique_ptr<HttpEndpoint>> Start(const config::Address& address,
                                                             HttpPages pages);
  ~HttpEndpoint();
  HttpEndpoint(const HttpEndpoint&) = delete;
  HttpEndpoint& operator=(const HttpEndpoint&) = delete;

  // host:port; a port of 0 has become the one the system chose.
  const std::string& address() const { return address_; }

 private:
  explicit HttpEndpoint(HttpPages pages) : pages_(std::move(pages)) {}
  int Answer(mg_connection* connection);

  const HttpPages pages_;
  std::string address_;
  mg_context* context_ = nullptr;
};

}  // namespace keysieve::admin
