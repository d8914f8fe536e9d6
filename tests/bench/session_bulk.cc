// SPDX-License-Identifier: MIT
// Throughput: pinned memory, device memory, and Vectorscan beside them.
#include <atomic>
#include <thread>

#include "evidence/base/status.h"
#include "tests/bench/bench_input.h"
#include "tests/bench/link_probe.h"
#include "tests/bench/session_measures.h"
#include "tests/conformance/vectorscan_oracle.h"

namespace keysieve::bench {
namespace {

using backends::Clock;
using backends::Copy;
using backends::MemoryKind;
using megakernel::Geometry;
using megakernel::SessionPolicy;

constexpr std::chrono::minutes kPatience{1};

Geometry BulkGeometry(uint64_t batch_bytes) {
  Geometry geometry;
  geometry.slots = 4096;
  geometry.tenants = 16;
  geometry.batches = static_cast<uint32_t>(batch_bytes >= 16 << 20 ? 16 : 24);
  geometry.batch_bytes = batch_bytes;
  geometry.hits_per_batch = static_cast<uint32_t>(batch_bytes / 32);
  return geometry;
}

// Copies all of the text to one device buffer in copies of `bytes`, without a gap. Seconds.
absl::StatusOr<double> CopyRound(TestBed& bed, const backends::Buffer& to, uint64_t bytes) {
  std::vector<Copy> copies;
  for (uint64_t at = 0; at < bed.text_bytes(); at += bytes) {
    const uint64_t size = std::min(bytes, bed.text_bytes() - at);
    copies.push_back({.from = {&bed.pinned(), at, size}, .to = {&to, at % to.size(), size}});
    if (at % to.size() + size > to.size()) copies.back().to.offset = 0;
  }
  const std::vector<Copy> once = copies;
  for (uint32_t pass = 1; pass < kPasses; ++pass) {
    copies.insert(copies.end(), once.begin(), once.end());
  }
  const auto begin = std::chrono::steady_clock::now();
  KS_ASSIGN_OR_RETURN(const auto ticket, bed.device().Submit({.uploads = copies}));
  KS_RETURN_IF_ERROR(bed.device().Wait(ticket, Clock::now() + kPatience).status());
  return SecondsSince(begin);
}

absl::Status BulkOf(TestBed& bed, uint64_t batch_bytes, SessionPolicy policy) {
  KS_ASSIGN_OR_RETURN(const auto session, bed.OpenSession(BulkGeometry(batch_bytes), policy));
  KS_ASSIGN_OR_RETURN(const auto table, session->LoadTable(bed.table()));
  KS_ASSIGN_OR_RETURN(const auto target,
                      bed.device().Allocate(MemoryKind::kDevice, 4 * batch_bytes));
  const auto stretches = bed.Cut(batch_bytes);
  KS_ASSIGN_OR_RETURN(const uint64_t hits, BulkRound(*session, table, bed, stretches));
  std::vector<double> ours, copies;
  const auto begin = std::chrono::steady_clock::now();
  const auto gigabytes = static_cast<double>(bed.text_bytes() * kPasses) * 1e-9;
  while (ours.size() < 3 || SecondsSince(begin) < bed.options().seconds) {
    KS_ASSIGN_OR_RETURN(const double copied, CopyRound(bed, *target, batch_bytes));
    copies.push_back(gigabytes / copied);
    const auto round = std::chrono::steady_clock::now();
    KS_RETURN_IF_ERROR(BulkRound(*session, table, bed, stretches).status());
    ours.push_back(gigabytes / SecondsSince(round));
  }
  bed.Report("bulk", {{"policy", megakernel::SessionPolicyName(session->policy())},
                      {"batch_bytes", batch_bytes},
                      {"batches", session->geometry().batches},
                      {"hits", hits / kPasses},
                      {"rounds", ours.size()},
                      {"session_gb_per_s", Percentile(ours, 0.5)},
                      {"copies_gb_per_s", Percentile(copies, 0.5)},
                      {"ratio", Percentile(ours, 0.5) / Percentile(copies, 0.5)},
                      {"goal", 0.97}});
  return session->Shutdown(Clock::now() + kPatience);
}

}  // namespace

absl::Status MeasureBulk(TestBed& bed) {
  for (const uint64_t bytes : {4 << 20, 8 << 20, 16 << 20}) {
    KS_RETURN_IF_ERROR(BulkOf(bed, bytes, SessionPolicy::kAuto));
  }
  return BulkOf(bed, 8 << 20, SessionPolicy::kEpoch);
}

absl::Status MeasureChunks(TestBed& bed) {
  constexpr uint64_t kChunk = 64 << 10;
  constexpr size_t kChunksOfBatch = 128;
  Geometry geometry = BulkGeometry(8 << 20);
  KS_ASSIGN_OR_RETURN(const auto session, bed.OpenSession(geometry, SessionPolicy::kAuto));
  KS_ASSIGN_OR_RETURN(const auto table, session->LoadTable(bed.table()));
  KS_ASSIGN_OR_RETURN(const auto probe, LinkProbe::Open(bed.device()));
  std::vector<megakernel::Piece> pieces;
  for (uint64_t at = 0; at + kChunk <= bed.text_bytes(); at += kChunk) {
    pieces.push_back({.text = bed.text().subspan(at, kChunk), .owned_end = kChunk});
  }
  const double gigabytes = static_cast<double>(pieces.size() * kPasses * kChunk) * 1e-9;
  std::vector<double> ours, ceiling;
  const auto begin = std::chrono::steady_clock::now();
  while (ours.size() < 3 || SecondsSince(begin) < bed.options().seconds) {
    KS_ASSIGN_OR_RETURN(const double seconds, probe->ReadPinned(bed.pinned(), 256 << 20));
    ceiling.push_back(static_cast<double>(probe->last_bytes()) * 1e-9 / seconds);
    const auto round = std::chrono::steady_clock::now();
    size_t next = 0;
    uint32_t pass = 1;
    while (next < pieces.size() || session->batches_in_flight() > 0) {
      if (next == pieces.size() && pass < kPasses) {
        next = 0;
        ++pass;
      }
      const size_t count = std::min(kChunksOfBatch, pieces.size() - next);
      if (count > 0) {
        const auto id = session->Submit({.table = table,
                                         .pieces = std::span(pieces).subspan(next, count),
                                         .pinned = &bed.pinned()});
        if (id.ok()) {
          next += count;
          KS_RETURN_IF_ERROR(session->Flush());
          continue;
        }
        if (!absl::IsResourceExhausted(id.status())) return id.status();
      }
      KS_RETURN_IF_ERROR(session->Next(Clock::now() + kPatience).status());
    }
    ours.push_back(gigabytes / SecondsSince(round));
  }
  bed.Report("chunks", {{"policy", megakernel::SessionPolicyName(session->policy())},
                        {"chunk_bytes", kChunk},
                        {"session_gb_per_s", Percentile(ours, 0.5)},
                        {"zero_copy_gb_per_s", Percentile(ceiling, 0.5)},
                        {"ratio", Percentile(ours, 0.5) / Percentile(ceiling, 0.5)},
                        {"goal", 0.90}});
  return session->Shutdown(Clock::now() + kPatience);
}

// One batch is the whole text; its kernel's time is the device's own.
absl::Status MeasureDeviceResident(TestBed& bed) {
  const uint64_t bytes = std::min<uint64_t>(bed.text_bytes(), (1 << 30) - 4096);
  Geometry geometry;
  geometry.slots = 4096;
  geometry.tenants = 16;
  geometry.batches = 1;
  geometry.batch_bytes = bytes;
  geometry.hits_per_batch = static_cast<uint32_t>(std::min<uint64_t>(bytes / 60, 1 << 24));
  KS_ASSIGN_OR_RETURN(const auto session, bed.OpenSession(geometry, SessionPolicy::kEpoch));
  KS_ASSIGN_OR_RETURN(const auto table, session->LoadTable(bed.table()));
  KS_ASSIGN_OR_RETURN(const auto from, bed.device().Allocate(MemoryKind::kDevice, bytes));
  KS_ASSIGN_OR_RETURN(const auto to, bed.device().Allocate(MemoryKind::kDevice, bytes));
  const auto stretches = bed.Cut(bytes);
  std::vector<double> ours, copies;
  uint64_t hits = 0;
  const auto begin = std::chrono::steady_clock::now();
  while (ours.size() < 3 || SecondsSince(begin) < bed.options().seconds) {
    const Copy copy{.from = {from.get(), 0, bytes}, .to = {to.get(), 0, bytes}};
    KS_ASSIGN_OR_RETURN(const auto ticket, bed.device().Submit({.uploads = std::span(&copy, 1)}));
    KS_ASSIGN_OR_RETURN(const auto times, bed.device().Wait(ticket, Clock::now() + kPatience));
    if (!times.upload_ns) return absl::UnavailableError("this device has no clock");
    // A copy reads and writes; a scan reads.
    copies.push_back(2.0 * static_cast<double>(bytes) / static_cast<double>(*times.upload_ns));
    KS_RETURN_IF_ERROR(session
                           ->Submit({.table = table,
                                     .pieces = std::span(&stretches[0].piece, 1),
                                     .pinned = &bed.pinned()})
                           .status());
    KS_ASSIGN_OR_RETURN(const auto result, session->Next(Clock::now() + kPatience));
    hits = result.hits[0].size();
    if (result.replays == 0) {
      ours.push_back(static_cast<double>(bytes) / static_cast<double>(result.device_ns));
    }
  }
  bed.Report("device", {{"scanned_bytes", bytes},
                        {"hits", hits},
                        {"scan_gb_per_s", Percentile(ours, 0.5)},
                        {"copy_gb_per_s", Percentile(copies, 0.5)},
                        {"ratio", Percentile(ours, 0.5) / Percentile(copies, 0.5)},
                        {"goal", bed.literals().size() > 3000 ? 0.22 : 0.30}});
  return session->Shutdown(Clock::now() + kPatience);
}

namespace {

// Every thread takes the next stretch until none is left.
Tally PeerRound(const test::VectorscanOracle& oracle,
                const std::vector<std::unique_ptr<test::VectorscanOracle::Scratch>>& scratch,
                const std::vector<Stretch>& stretches, bool check) {
  std::atomic<size_t> next{0};
  std::vector<Tally> tallies(scratch.size());
  std::vector<std::thread> threads;
  for (size_t t = 0; t < scratch.size(); ++t) {
    threads.emplace_back([&, t] {
      for (size_t i = next++; i < stretches.size(); i = next++) {
        const Stretch& stretch = stretches[i];
        if (!check) {
          tallies[t].hits += oracle.Count(stretch.piece.text, *scratch[t]);
          continue;
        }
        for (const auto& hit : oracle.Matches(stretch.piece.text, *scratch[t])) {
          if (hit.start >= stretch.piece.owned_end) continue;
          tallies[t].Add(stretch.base + hit.start, stretch.base + hit.end, hit.pattern);
        }
      }
    });
  }
  Tally total;
  for (size_t t = 0; t < threads.size(); ++t) {
    threads[t].join();
    total.hits += tallies[t].hits;
    total.sum += tallies[t].sum;
  }
  return total;
}

absl::StatusOr<Tally> CheckedRound(megakernel::Session& session, megakernel::TableHandle table,
                                   const TestBed& bed, const std::vector<Stretch>& stretches) {
  Tally tally;
  for (const Stretch& stretch : stretches) {
    KS_RETURN_IF_ERROR(
        session
            .Submit(
                {.table = table, .pieces = std::span(&stretch.piece, 1), .pinned = &bed.pinned()})
            .status());
    KS_ASSIGN_OR_RETURN(const auto result, session.Next(Clock::now() + kPatience));
    for (const auto& hit : result.hits[0]) {
      tally.Add(stretch.base + hit.start, stretch.base + hit.end, hit.pattern);
    }
  }
  return tally;
}

}  // namespace

absl::Status MeasurePeer(TestBed& bed) {
  constexpr uint64_t kBatch = 8 << 20;
  const test::VectorscanOracle oracle(bed.literals());
  if (!oracle.error().empty()) return absl::InternalError(oracle.error());
  std::vector<std::unique_ptr<test::VectorscanOracle::Scratch>> scratch;
  for (uint32_t i = 0; i < bed.options().threads; ++i) {
    scratch.push_back(std::make_unique<test::VectorscanOracle::Scratch>(oracle));
  }
  KS_ASSIGN_OR_RETURN(const auto session,
                      bed.OpenSession(BulkGeometry(kBatch), SessionPolicy::kAuto));
  KS_ASSIGN_OR_RETURN(const auto table, session->LoadTable(bed.table()));
  const auto batches = bed.Cut(kBatch);
  const auto chunks = bed.Cut(1 << 20);
  KS_ASSIGN_OR_RETURN(const Tally ours, CheckedRound(*session, table, bed, batches));
  const Tally theirs = PeerRound(oracle, scratch, chunks, true);
  std::vector<double> session_rate, peer_rate;
  const double gigabytes = static_cast<double>(bed.text_bytes()) * 1e-9;
  const auto begin = std::chrono::steady_clock::now();
  while (session_rate.size() < 3 || SecondsSince(begin) < bed.options().seconds) {
    auto round = std::chrono::steady_clock::now();
    KS_RETURN_IF_ERROR(BulkRound(*session, table, bed, batches).status());
    session_rate.push_back(kPasses * gigabytes / SecondsSince(round));
    round = std::chrono::steady_clock::now();
    PeerRound(oracle, scratch, chunks, false);
    peer_rate.push_back(gigabytes / SecondsSince(round));
  }
  bed.Report("peer", {{"policy", megakernel::SessionPolicyName(session->policy())},
                      {"hits", ours.hits},
                      {"hits_equal", ours == theirs},
                      {"peer", std::string("Vectorscan ") + hs_version()},
                      {"peer_threads", bed.options().threads},
                      {"session_gb_per_s", Percentile(session_rate, 0.5)},
                      {"peer_gb_per_s", Percentile(peer_rate, 0.5)},
                      {"ratio", Percentile(session_rate, 0.5) / Percentile(peer_rate, 0.5)},
                      {"goal", 10}});
  if (ours != theirs) {
    return absl::InternalError("the session and its peer found different hits");
  }
  return session->Shutdown(Clock::now() + kPatience);
}

}  // namespace keysieve::bench
