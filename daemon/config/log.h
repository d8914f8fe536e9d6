// SPDX-License-Identifier: MIT
// Structured log lines: an event's name, a sentence and named values. Nothing here ever receives
// the bytes of a blob, a match or a secret. A line is one JSON object, or one journal entry with
// fields.
//
//   log.Info("scan", "scan ended", {{"scan_id", id}, {"bytes", 4096}, {"complete", true}});
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "daemon/config/config.h"

namespace keysieve::config {

struct LogField {
  template <typename Number>
  requires(std::is_integral_v<Number> && !std::is_same_v<Number, bool>)
      LogField(std::string_view n, Number v)
      : name(n), value(static_cast<int64_t>(v)) {}
  LogField(std::string_view n, bool v) : name(n), value(v) {}
  LogField(std::string_view n, double v) : name(n), value(v) {}
  LogField(std::string_view n, std::string v) : name(n), value(std::move(v)) {}
  LogField(std::string_view n, std::string_view v) : name(n), value(std::string(v)) {}
  LogField(std::string_view n, const char* v) : name(n), value(std::string(v)) {}

  std::string name;  // lower case and underscores
  std::variant<int64_t, double, bool, std::string> value;
};

struct LogLine {
  LogLevel level = LogLevel::kInfo;
  std::string event;
  std::string message;
  std::vector<LogField> fields;
};

// Receives whole lines; called from any thread.
using LogSink = std::function<void(const LogLine&)>;

class Log {
 public:
  Log(LogLevel level, LogSink sink) : level_(level), sink_(std::move(sink)) {}

  LogLevel level() const { return level_; }

  void Write(LogLevel level, std::string_view event, std::string message,
             std::vector<LogField> fields = {}) const {
    if (level < level_) return;
    sink_({level, std::string(event), std::move(message), std::move(fields)});
  }
  void Debug(std::string_view e, std::string m, std::vector<LogField> f = {}) const {
    Write(LogLevel::kDebug, e, std::move(m), std::move(f));
  }
  void Info(std::string_view e, std::string m, std::vector<LogField> f = {}) const {
    Write(LogLevel::kInfo, e, std::move(m), std::move(f));
  }
  void Warning(std::string_view e, std::string m, std::vector<LogField> f = {}) const {
    Write(LogLevel::kWarning, e, std::move(m), std::move(f));
  }
  void Error(std::string_view e, std::string m, std::vector<LogField> f = {}) const {
    Write(LogLevel::kError, e, std::move(m), std::move(f));
  }

 private:
  LogLevel level_;
  LogSink sink_;
};

std::string_view LogLevelName(LogLevel level);

// The line as JSON, without a line end. Bytes that are no UTF-8 are replaced.
std::string ToJson(const LogLine& line);
// One write(2) a line to standard error.
LogSink StderrJsonSink();
// For tests and libraries that nobody listens to.
LogSink SilentSink();

}  // namespace keysieve::config
