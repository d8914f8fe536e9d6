// SPDX-License-Identifier: MIT
// Latency: one small scan at a time, alone and under bulk.
#include <random>

#include "evidence/base/status.h"
#include "tests/bench/bench_input.h"
#include "tests/bench/session_measures.h"

namespace keysieve::bench {
namespace {

using backends::Clock;
using megakernel::Geometry;
using megakernel::SessionPolicy;

constexpr std::chrono::minutes kPatience{1};

Geometry SmallGeometry() {
  Geometry geometry;
  geometry.slots = 256;
  geometry.tenants = 16;
  geometry.batches = 8;
  geometry.batch_bytes = 1 << 20;
  geometry.hits_per_batch = 1 << 15;
  return geometry;
}

struct Small {
  std::vector<double> us;
  uint64_t hits = 0;
};

// Scans of `bytes` at random places, one after the other, from publish to decoded hits.
absl::StatusOr<Small> ScanOneByOne(TestBed& bed, megakernel::Session& session,
                                   megakernel::TableHandle table, uint32_t bytes, double seconds) {
  Small small;
  std::mt19937_64 random(5);
  const auto begin = std::chrono::steady_clock::now();
  while (small.us.size() < 200 || SecondsSince(begin) < seconds) {
    megakernel::Piece piece;
    piece.text = bed.text().subspan(random() % (bed.text_bytes() - bytes), bytes);
    piece.owned_end = bytes;
    const auto start = std::chrono::steady_clock::now();
    KS_RETURN_IF_ERROR(session.Submit({.table = table, .pieces = std::span(&piece, 1)}).status());
    KS_ASSIGN_OR_RETURN(const auto result, session.Next(Clock::now() + kPatience));
    small.us.push_back(SecondsSince(start) * 1e6);
    small.hits += result.hits[0].size();
  }
  return small;
}

absl::Status LatencyOf(TestBed& bed, uint32_t bytes) {
  double half[2] = {0, 0};
  nlohmann::json fields{{"scan_bytes", bytes}, {"goal_us", bytes <= 4096 ? 9 : 17}};
  for (const SessionPolicy policy : {SessionPolicy::kAuto, SessionPolicy::kEpoch}) {
    KS_ASSIGN_OR_RETURN(const auto session, bed.OpenSession(SmallGeometry(), policy));
    KS_ASSIGN_OR_RETURN(const auto table, session->LoadTable(bed.table()));
    KS_ASSIGN_OR_RETURN(const Small small,
                        ScanOneByOne(bed, *session, table, bytes, bed.options().seconds / 2));
    const std::string name(megakernel::SessionPolicyName(session->policy()));
    half[policy == SessionPolicy::kEpoch] = Percentile(small.us, 0.5);
    fields[name + "_p50_us"] = Percentile(small.us, 0.5);
    fields[name + "_p99_us"] = Percentile(small.us, 0.99);
    fields[name + "_scans"] = small.us.size();
    KS_RETURN_IF_ERROR(session->Shutdown(Clock::now() + kPatience));
  }
  fields["of_launch_and_wait"] = half[0] / half[1];
  bed.Report("latency", fields);
  return absl::OkStatus();
}

}  // namespace

absl::Status MeasureLatency(TestBed& bed) {
  KS_RETURN_IF_ERROR(LatencyOf(bed, 4096));
  return LatencyOf(bed, 65536);
}

namespace {

// Bulk batches, always kAhead of them in flight, and if `us` is given one small scan among them.
// Bulk's GB/s.
absl::StatusOr<double> MixedRound(TestBed& bed, megakernel::Session& session,
                                  megakernel::TableHandle table, double seconds,
                                  std::vector<double>* us) {
  constexpr uint32_t kAhead = 6;
  const auto stretches = bed.Cut(session.geometry().batch_bytes);
  std::mt19937_64 random(7);
  uint64_t bulk_bytes = 0;
  megakernel::BatchId small = 0;  // in flight
  std::chrono::steady_clock::time_point start;
  const auto begin = std::chrono::steady_clock::now();
  for (size_t next = 0; SecondsSince(begin) < seconds;) {
    while (session.batches_in_flight() < kAhead + (small != 0 ? 1 : 0)) {
      const megakernel::Piece& piece = stretches[next++ % stretches.size()].piece;
      KS_RETURN_IF_ERROR(
          session.Submit({.table = table, .pieces = std::span(&piece, 1), .pinned = &bed.pinned()})
              .status());
      KS_RETURN_IF_ERROR(session.Flush());
      bulk_bytes += piece.text.size();
    }
    if (us != nullptr && small == 0) {
      megakernel::Piece piece;
      piece.text = bed.text().subspan(random() % (bed.text_bytes() - 4096), 4096);
      piece.owned_end = 4096;
      start = std::chrono::steady_clock::now();
      KS_ASSIGN_OR_RETURN(small, session.Submit({.table = table, .pieces = std::span(&piece, 1)}));
      KS_RETURN_IF_ERROR(session.Flush());
    }
    KS_ASSIGN_OR_RETURN(const auto result, session.Next(Clock::now() + kPatience));
    if (small != 0 && result.id == small) {
      us->push_back(SecondsSince(start) * 1e6);
      small = 0;
    }
  }
  while (session.batches_in_flight() > 0) {
    KS_RETURN_IF_ERROR(session.Next(Clock::now() + kPatience).status());
  }
  return static_cast<double>(bulk_bytes) * 1e-9 / SecondsSince(begin);
}

}  // namespace

absl::Status MeasureMixed(TestBed& bed) {
  Geometry geometry = SmallGeometry();
  geometry.slots = 1024;
  geometry.batch_bytes = 8 << 20;
  geometry.hits_per_batch = 1 << 18;
  KS_ASSIGN_OR_RETURN(const auto session, bed.OpenSession(geometry, SessionPolicy::kAuto));
  KS_ASSIGN_OR_RETURN(const auto table, session->LoadTable(bed.table()));
  const double seconds = bed.options().seconds / 2;
  KS_ASSIGN_OR_RETURN(const double alone, MixedRound(bed, *session, table, seconds, nullptr));
  std::vector<double> us;
  KS_ASSIGN_OR_RETURN(const double with, MixedRound(bed, *session, table, seconds, &us));
  bed.Report("mixed", {{"policy", megakernel::SessionPolicyName(session->policy())},
                       {"scan_bytes", 4096},
                       {"p50_us", Percentile(us, 0.5)},
                       {"p99_us", Percentile(us, 0.99)},
                       {"goal_p99_us", 25},
                       {"bulk_alone_gb_per_s", alone},
                       {"bulk_with_gb_per_s", with},
                       {"bulk_keeps", with / alone},
                       {"goal_bulk_keeps", 0.85}});
  return session->Shutdown(Clock::now() + kPatience);
}

}  // namespace keysieve::bench
