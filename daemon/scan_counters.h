// SPDX-License-Identifier: MIT
// What the pipeline counts for its operators, by name and label. Counting is once a blob or once a
// stream, so a plain mutex will do. Rendering is the admin room's business.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "evidence/base/mutex.h"

namespace keysieve::pipeline {

class ScanCounters {
 public:
  using ByLabel = std::map<std::string, uint64_t, std::less<>>;
  struct Values {
    uint64_t blobs = 0;
    // What is known beforehand stands at zero from the start, so that increase() sees the first
    // one.
    ByLabel rejects = {
        {"draining", 0}, {"memory", 0}, {"permission", 0}, {"streams", 0}};  // reason
    ByLabel scans = {{"cancelled", 0}, {"complete", 0}, {"incomplete", 0}};  // result
    ByLabel findings;                                                        // rule
    ByLabel gaps = {{"blob_limit", 0}};                                      // reason
    ByLabel exclusions = {{"allowlisted_path", 0}};                          // reason
    ByLabel route_bytes;                                                     // backend
  };

  void Rejected(std::string_view reason) { Add(&Values::rejects, reason, 1); }
  void Scan(std::string_view result) { Add(&Values::scans, result, 1); }
  void Found(std::string_view rule) { Add(&Values::findings, rule, 1); }
  void Gap(std::string_view reason) { Add(&Values::gaps, reason, 1); }
  void Excluded(std::string_view reason) { Add(&Values::exclusions, reason, 1); }
  void Scanned(std::string_view route, uint64_t bytes) { Add(&Values::route_bytes, route, bytes); }
  void Blob() {
    MutexLock lock(mutex_);
    ++values_.blobs;
  }
  Values Read() const {
    MutexLock lock(mutex_);
    return values_;
  }

 private:
  void Add(ByLabel Values::*family, std::string_view label, uint64_t n) {
    MutexLock lock(mutex_);
    ByLabel& map = values_.*family;
    const auto it = map.find(label);
    if (it == map.end()) {
      map.emplace(std::string(label), n);
    } else {
      it->second += n;
    }
  }

  mutable Mutex mutex_;
  Values values_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace keysieve::pipeline
