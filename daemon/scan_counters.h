// SPDX-License-Identifier: MIT
// What the pipeline counts for its operators, by name and label. Counting is once a blob or once a
// stream, so a plain mutex will do. Rules and tenants are many and chosen by others: past a limit a
// new one counts as "other", so that a scrape stays bounded. Rendering is the admin room's
// business.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "evidence/base/mutex.h"
#include "evidence/cells.h"

namespace keysieve::pipeline {

class ScanCounters {
 public:
  struct Limits {
    size_t rules = 1000;  // distinct labels, "other" not among them
    size_t tenants = 100;
  };
  using ByLabel = std::map<std::string, uint64_t, std::less<>>;
  struct Values {
    uint64_t blobs = 0;
    // What is known beforehand stands at zero from the start, so that increase() sees the first
    // one.
    ByLabel rejects = {
        {"draining", 0}, {"memory", 0}, {"permission", 0}, {"streams", 0}};    // reason
    ByLabel scans = {{"cancelled", 0}, {"complete", 0}, {"incomplete", 0}};    // result
    ByLabel findings;                                                          // rule
    ByLabel gaps = {{"blob_limit", 0}};                                        // reason
    ByLabel exclusions = {{"allowlisted_path", 0}};                            // reason
    ByLabel route_bytes;                                                       // backend
    ByLabel tenant_bytes;                                                      // tenant
    std::map<std::pair<std::string, std::string>, uint64_t> tenant_device_ns;  // tenant, backend
    evidence::HistogramValues blob_latency;  // from a blob's last byte to its receipt
  };

  explicit ScanCounters(const Limits& limits) : limits_(limits) {}
  ScanCounters() : ScanCounters(Limits()) {}

  void Rejected(std::string_view reason) { Add(&Values::rejects, reason, 1); }
  void Scan(std::string_view result) { Add(&Values::scans, result, 1); }
  void Found(std::string_view rule) { Add(&Values::findings, rule, 1, limits_.rules); }
  void Gap(std::string_view reason) { Add(&Values::gaps, reason, 1); }
  void Excluded(std::string_view reason) { Add(&Values::exclusions, reason, 1); }
  void Scanned(std::string_view route, uint64_t bytes) { Add(&Values::route_bytes, route, bytes); }
  void TenantScanned(std::string_view tenant, uint64_t bytes) {
    Add(&Values::tenant_bytes, tenant, bytes, limits_.tenants);
  }
  // Counts for "other" unless the tenant's bytes have a label of their own already: one bound for
  // both.
  void TenantCharged(const std::string& tenant, const std::string& backend, uint64_t device_ns) {
    MutexLock lock(mutex_);
    const bool known =
        values_.tenant_bytes.contains(tenant) || Room(values_.tenant_bytes, limits_.tenants);
    if (known) values_.tenant_bytes.try_emplace(tenant, 0);
    values_.tenant_device_ns[{known ? tenant : kOther, backend}] += device_ns;
  }
  void Blob(std::chrono::nanoseconds latency) {
    blob_latency_.Observe(static_cast<uint64_t>(std::max<int64_t>(latency.count(), 0)));
    MutexLock lock(mutex_);
    ++values_.blobs;
  }
  Values Read() const {
    MutexLock lock(mutex_);
    Values values = values_;
    values.blob_latency = blob_latency_.Read();
    return values;
  }

 private:
  inline static const std::string kOther = "other";

  static bool Room(const ByLabel& map, size_t limit) {
    return map.size() - (map.contains(kOther) ? 1 : 0) < limit;
  }
  void Add(ByLabel Values::*family, std::string_view label, uint64_t n,
           size_t limit = std::numeric_limits<size_t>::max()) {
    MutexLock lock(mutex_);
    ByLabel& map = values_.*family;
    auto it = map.find(label);
    if (it == map.end()) {
      it = map.try_emplace(Room(map, limit) ? std::string(label) : kOther, 0).first;
    }
    it->second += n;
  }

  const Limits limits_;
  evidence::HistogramCells blob_latency_;
  mutable Mutex mutex_;
  Values values_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace keysieve::pipeline
