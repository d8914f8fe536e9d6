// SPDX-License-Identifier: MIT
// JSON lines; see log.h.
#include "daemon/config/log.h"

#include <unistd.h>

#include <chrono>
#include <ctime>
#include <nlohmann/json.hpp>

namespace keysieve::config {
namespace {

std::string Now() {
  const auto now = std::chrono::system_clock::now();
  const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch());
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  char text[40];
  const size_t n = std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &utc);
  std::snprintf(text + n, sizeof(text) - n, ".%03dZ", static_cast<int>(ms.count() % 1000));
  return text;
}

}  // namespace

std::string_view LogLevelName(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return "debug";
    case LogLevel::kInfo:
      return "info";
    case LogLevel::kWarning:
      return "warning";
    case LogLevel::kError:
      return "error";
  }
  return "error";
}

std::string ToJson(const LogLine& line) {
  nlohmann::ordered_json json;
  json["time"] = Now();
  json["level"] = std::string(LogLevelName(line.level));
  json["event"] = line.event;
  json["message"] = line.message;
  for (const LogField& field : line.fields) {
    std::visit([&](const auto& value) { json[field.name] = value; }, field.value);
  }
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

LogSink StderrJsonSink() {
  return [](const LogLine& line) {
    const std::string text = ToJson(line) + "\n";
    [[maybe_unused]] const ssize_t n = ::write(STDERR_FILENO, text.data(), text.size());
  };
}

LogSink SilentSink() {
  return [](const LogLine&) {};
}

}  // namespace keysieve::config
