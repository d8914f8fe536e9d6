// SPDX-License-Identifier: MIT
// civetweb at work, in this file only; see http_endpoint.h.
#include "daemon/admin/http_endpoint.h"

#include <civetweb.h>

#include <cstring>

#include "evidence/base/status.h"
#include "evidence/exporter.h"

namespace keysieve::admin {
namespace {

constexpr char kPlain[] = "text/plain; charset=utf-8";
constexpr char kHtml[] = "text/html; charset=utf-8";
constexpr char kCss[] = "text/css; charset=utf-8";
constexpr char kJavaScript[] = "text/javascript; charset=utf-8";

// Nothing from elsewhere, no inline script or style, nobody's frame: a name in a table stays text.
constexpr char kPolicy[] =
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

void Send(mg_connection* connection, int code, const char* reason, std::string_view type,
          std::string_view body) {
  const std::string head = Cat("HTTP/1.1 ", code, " ", reason, "\r\nContent-Type: ", type,
                               "\r\nContent-Length: ", body.size(),
                               "\r\nX-Content-Type-Options: nosniff\r\nCache-Control: no-store"
                               "\r\nContent-Security-Policy: ",
                               kPolicy, "\r\nConnection: close\r\n\r\n");
  mg_write(connection, head.data(), head.size());
  if (std::strcmp(mg_get_request_info(connection)->request_method, "HEAD") != 0) {
    mg_write(connection, body.data(), body.size());
  }
}

// civetweb's own complaints would go to standard error as plain text.
int Quiet(const mg_connection*, const char*) { return 1; }

}  // namespace

absl::StatusOr<std::unique_ptr<HttpEndpoint>> HttpEndpoint::Start(const config::Address& address,
                                                                  HttpPages pages) {
  std::unique_ptr<HttpEndpoint> endpoint(new HttpEndpoint(std::move(pages)));
  config::Address bind = address;
  if (bind.host == "localhost") bind.host = "127.0.0.1";  // civetweb takes numbers only
  const std::string ports = bind.ToString();
  const char* options[] = {"listening_ports",
                           ports.c_str(),
                           "num_threads",
                           "2",
                           "request_timeout_ms",
                           "10000",
                           "enable_keep_alive",
                           "no",
                           "enable_directory_listing",
                           "no",
                           nullptr};
  mg_callbacks callbacks{};
  callbacks.log_message = Quiet;
  endpoint->context_ = mg_start(&callbacks, endpoint.get(), options);
  if (endpoint->context_ == nullptr) {
    return absl::UnavailableError(Cat("cannot serve metrics on ", address.ToString(),
                                      ": the address is in use or not this host's; choose another "
                                      "--admin-listen, or off"));
  }
  mg_set_request_handler(
      endpoint->context_, "/",
      [](mg_connection* connection, void* self) {
        return static_cast<HttpEndpoint*>(self)->Answer(connection);
      },
      endpoint.get());
  mg_server_port port{};
  if (mg_get_server_ports(endpoint->context_, 1, &port) == 1) {
    bind.port = static_cast<uint16_t>(port.port);
  }
  endpoint->address_ = bind.ToString();
  return endpoint;
}

HttpEndpoint::~HttpEndpoint() {
  if (context_ != nullptr) mg_stop(context_);
}

int HttpEndpoint::Answer(mg_connection* connection) {
  const mg_request_info* request = mg_get_request_info(connection);
  const std::string_view method = request->request_method;
  const std::string_view path = request->local_uri != nullptr ? request->local_uri : "";
  if (method != "GET" && method != "HEAD") {
    Send(connection, 405, "Method Not Allowed", kPlain, "only GET and HEAD are served\n");
    return 405;
  }
  if (path == "/metrics") {
    Send(connection, 200, "OK", evidence::kContentType, pages_.metrics());
    return 200;
  }
  if (path == "/-/healthy") {
    Send(connection, 200, "OK", kPlain, "healthy\n");
    return 200;
  }
  if (path == "/-/ready") {
    const bool ready = pages_.ready();
    Send(connection, ready ? 200 : 503, ready ? "OK" : "Service Unavailable", kPlain,
         ready ? "ready\n" : "not ready\n");
    return ready ? 200 : 503;
  }
  if (path == "/") {
    Send(connection, 200, "OK", kHtml, pages_.front());
    return 200;
  }
  if (path == "/live") {
    Send(connection, 200, "OK", kHtml, pages_.live());
    return 200;
  }
  if (path == "/style.css" || path == "/refresh.js") {
    const bool css = path == "/style.css";
    Send(connection, 200, "OK", css ? kCss : kJavaScript, css ? pages_.style : pages_.script);
    return 200;
  }
  Send(connection, 404, "Not Found", kPlain, "/metrics, /-/healthy, /-/ready and / are served\n");
  return 404;
}

}  // namespace keysieve::admin
