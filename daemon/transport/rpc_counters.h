// SPDX-License-Identifier: MIT
// What operators know of any gRPC server: calls begun, calls ended by code, and how long they took.
// Counted once a call.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "evidence/base/mutex.h"

namespace keysieve::transport {

class RpcCounters {
 public:
  using Method = std::pair<std::string, std::string>;  // service, method
  // Upper bounds in seconds; scans last from milliseconds to minutes.
  static constexpr std::array<double, 12> kBounds = {0.001, 0.005, 0.01, 0.05, 0.1, 0.5,
                                                     1,     5,     10,   60,   300, 1800};
  struct Values {
    uint64_t started = 0;
    std::map<std::string, uint64_t> handled;         // by code
    std::array<uint64_t, kBounds.size()> buckets{};  // not cumulative
    uint64_t count = 0;
    double seconds = 0;
  };

  void Started(const Method& method) {
    MutexLock lock(mutex_);
    ++values_[method].started;
  }
  void Handled(const Method& method, const std::string& code, double seconds) {
    MutexLock lock(mutex_);
    Values& values = values_[method];
    ++values.handled[code];
    ++values.count;
    values.seconds += seconds;
    for (size_t i = 0; i < kBounds.size(); ++i) {
      if (seconds <= kBounds[i]) {
        ++values.buckets[i];
        break;
      }
    }
  }
  std::map<Method, Values> Read() const {
    MutexLock lock(mutex_);
    return values_;
  }

 private:
  mutable Mutex mutex_;
  std::map<Method, Values> values_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace keysieve::transport
