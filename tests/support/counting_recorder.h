// SPDX-License-Identifier: MIT
// A recorder that adds up what it is told, for tests that hold a device to its evidence.
#pragma once

#include <cstdint>
#include <vector>

#include "evidence/scan_recorder.h"

namespace keysieve::test {

class CountingRecorder final : public evidence::ScanRecorder {
 public:
  void Submitted() override { ++submitted; }
  void Completed(const evidence::DispatchRecord& record) override { completed.push_back(record); }
  void Allocated(uint64_t bytes) override {
    ++allocations;
    allocated_bytes += bytes;
  }
  void Freed(uint64_t bytes) override {
    ++frees;
    freed_bytes += bytes;
  }
  void Compiled(uint64_t ns) override {
    ++compiled;
    compile_ns += ns;
  }
  void PipelineCache(bool hit) override { ++(hit ? cache_hits : cache_misses); }
  void Fault(evidence::FaultKind kind) override { ++faults[static_cast<int>(kind)]; }
  void Retried(uint32_t) override { ++retried; }
  void Recovered() override { ++recovered; }
  void ResidualBatch() override { ++residual; }
  void OverflowReplayed() override { ++replayed; }
  void Quarantined() override { ++quarantined; }
  void Observed(std::optional<double>, std::optional<double>) override { ++observed; }
  void Busy(uint64_t ns) override { busy_ns += ns; }

  uint64_t faults_of(evidence::FaultKind kind) const { return faults[static_cast<int>(kind)]; }
  uint64_t faults_in_all() const {
    uint64_t sum = 0;
    for (const uint64_t count : faults) sum += count;
    return sum;
  }
  // Bytes of all completed submissions.
  uint64_t uploaded(evidence::Traffic traffic) const {
    uint64_t sum = 0;
    for (const auto& record : completed) sum += record.uploads.bytes[static_cast<int>(traffic)];
    return sum;
  }
  uint64_t read_back(evidence::Traffic traffic) const {
    uint64_t sum = 0;
    for (const auto& record : completed) sum += record.readbacks.bytes[static_cast<int>(traffic)];
    return sum;
  }
  bool untouched() const {
    return submitted + completed.size() + allocations + frees + compiled + cache_hits +
               cache_misses + faults_in_all() + retried + recovered + residual + replayed +
               quarantined + observed + busy_ns ==
           0;
  }

  uint64_t submitted = 0;
  std::vector<evidence::DispatchRecord> completed;
  uint64_t allocations = 0, allocated_bytes = 0;
  uint64_t frees = 0, freed_bytes = 0;
  uint64_t compiled = 0, compile_ns = 0;
  uint64_t cache_hits = 0, cache_misses = 0;
  uint64_t faults[evidence::kFaultKinds] = {};
  uint64_t retried = 0, recovered = 0, residual = 0, replayed = 0, quarantined = 0;
  uint64_t observed = 0, busy_ns = 0;
};

}  // namespace keysieve::test
