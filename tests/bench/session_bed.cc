// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstring>
#include <iostream>

#include "backends/registry.h"
#include "evidence/base/status.h"
#include "tests/bench/bench_input.h"
#include "tests/bench/session_measures.h"

namespace keysieve::bench {

using backends::MemoryKind;
using megakernel::Session;

absl::StatusOr<std::unique_ptr<TestBed>> TestBed::Open(const MeasureOptions& options) {
  auto bed = std::make_unique<TestBed>();
  bed->options_ = options;
  KS_ASSIGN_OR_RETURN(bed->literals_, ReadPatterns(options.patterns));
  KS_ASSIGN_OR_RETURN(bed->table_, megakernel::CompileTable(bed->literals_));
  KS_ASSIGN_OR_RETURN(const backends::BackendKind kind,
                      backends::ParseBackendName(options.backend));
  const backends::ProbeResult probe = backends::ProbeAdapters(kind);
  if (probe.adapters.empty()) return absl::UnavailableError(probe.reason);
  KS_ASSIGN_OR_RETURN(bed->device_, backends::OpenDevice(probe.adapters[0], {}));
  KS_ASSIGN_OR_RETURN(const std::string text, ReadText(options.text));
  bed->text_bytes_ = text.size() * std::max(1u, options.repeat);
  KS_ASSIGN_OR_RETURN(bed->pinned_, bed->device_->Allocate(MemoryKind::kPinned, bed->text_bytes_));
  for (uint64_t at = 0; at < bed->text_bytes_; at += text.size()) {
    std::memcpy(bed->pinned_->host() + at, text.data(), text.size());
  }
  return bed;
}

std::span<const uint8_t> TestBed::text() const {
  return {reinterpret_cast<const uint8_t*>(pinned_->host()), text_bytes_};
}

std::vector<Stretch> TestBed::Cut(uint64_t bytes) const {
  std::vector<Stretch> stretches;
  const uint64_t owned = bytes - (table_.max_literal_bytes - 1);
  for (uint64_t at = 0; at < text_bytes_; at += owned) {
    Stretch stretch;
    const uint64_t size = std::min<uint64_t>(bytes, text_bytes_ - at);
    stretch.base = at;
    stretch.piece.text = text().subspan(at, size);
    stretch.piece.owned_end = static_cast<uint32_t>(std::min(owned, size));
    stretches.push_back(stretch);
  }
  return stretches;
}

absl::StatusOr<std::unique_ptr<Session>> TestBed::OpenSession(const megakernel::Geometry& geometry,
                                                              megakernel::SessionPolicy policy) {
  megakernel::SessionOptions options;
  options.geometry = geometry;
  options.watchdog = std::chrono::seconds(60);
  options.policy = policy;
  options.decode_threads = options_.decode_threads;
  return Session::Open(*device_, options);
}

void TestBed::Report(const std::string& name, nlohmann::json fields) const {
  fields["bench"] = name;
  fields["backend"] = options_.backend;
  fields["device"] = device_->identity().name;
  fields["driver"] = device_->identity().driver;
  fields["literals"] = literals_.size();
  fields["text_bytes"] = text_bytes_;
  if (options_.decode_threads != 0) fields["decode_threads"] = options_.decode_threads;
  std::cout << fields.dump() << std::endl;
}

absl::StatusOr<uint64_t> BulkRound(Session& session, megakernel::TableHandle table,
                                   const TestBed& bed, const std::vector<Stretch>& stretches) {
  uint64_t hits = 0;
  const size_t batches = stretches.size() * kPasses;
  size_t taken = 0;
  for (size_t next = 0; taken < batches;) {
    if (next < batches) {
      const megakernel::Piece& piece = stretches[next % stretches.size()].piece;
      const auto id =
          session.Submit({.table = table, .pieces = std::span(&piece, 1), .pinned = &bed.pinned()});
      if (id.ok()) {
        ++next;
        KS_RETURN_IF_ERROR(session.Flush());
        continue;
      }
      if (!absl::IsResourceExhausted(id.status())) return id.status();
    }
    KS_ASSIGN_OR_RETURN(const megakernel::BatchResult result,
                        session.Next(backends::Clock::now() + std::chrono::minutes(1)));
    ++taken;
    for (const auto& piece : result.hits) hits += piece.size();
  }
  return hits;
}

}  // namespace keysieve::bench
