// SPDX-License-Identifier: MIT
// Literal matching end to end: a session on one backend, from host bytes to sorted hits in host
// memory, with Vectorscan on all cores beside it. Rounds alternate in one run, both find the same
// hits in the same text, and one line of JSON says what was measured.
//
//   literal_bench --backend cuda --patterns patterns.txt --text corpus.bin --seconds 10
//
// A pattern file has a line a literal: `i` (ignore case) or `s`, a tab, the literal.
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <ctime>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "backends/registry.h"
#include "evidence/base/status.h"
#include "megakernel/session.h"
#include "tests/bench/bench_input.h"
#include "tests/conformance/source_text.h"
#include "tests/conformance/vectorscan_oracle.h"

namespace keysieve {
namespace {

using bench::Tally;
using megakernel::Literal;
using megakernel::LiteralHit;
using megakernel::Piece;
using Clock = std::chrono::steady_clock;

struct Options {
  std::string backend = "cpu";
  std::string patterns, text;
  uint64_t bytes = 64 << 20;  // of generated text
  double seconds = 5;
  uint32_t threads = std::max(1u, std::thread::hardware_concurrency());
  uint32_t cpu_threads = 0;  // of the cpu backend; 0 = all
  megakernel::MatchRoute route = megakernel::MatchRoute::kTuned;
  megakernel::Geometry geometry;
};

absl::StatusOr<Options> Parse(int argc, char** argv) {
  Options options;
  std::map<std::string, std::string> given;
  for (int i = 1; i + 1 < argc; i += 2) given[argv[i]] = argv[i + 1];
  if (argc % 2 == 0) return absl::InvalidArgumentError("every option takes a value");
  for (const auto& [name, value] : given) {
    const auto number = [&value = value] { return std::strtoull(value.c_str(), nullptr, 10); };
    if (name == "--backend") {
      options.backend = value;
    } else if (name == "--patterns") {
      options.patterns = value;
    } else if (name == "--text") {
      options.text = value;
    } else if (name == "--bytes") {
      options.bytes = number();
    } else if (name == "--seconds") {
      options.seconds = std::strtod(value.c_str(), nullptr);
    } else if (name == "--threads") {
      options.threads = static_cast<uint32_t>(number());
    } else if (name == "--cpu-threads") {
      options.cpu_threads = static_cast<uint32_t>(number());
    } else if (name == "--route" && (value == "tuned" || value == "shared")) {
      options.route =
          value == "tuned" ? megakernel::MatchRoute::kTuned : megakernel::MatchRoute::kShared;
    } else if (name == "--slots") {
      options.geometry.slots = static_cast<uint32_t>(number());
    } else if (name == "--workgroup") {
      options.geometry.workgroup = static_cast<uint32_t>(number());
    } else if (name == "--batches") {
      options.geometry.batches = static_cast<uint32_t>(number());
    } else if (name == "--batch-bytes") {
      options.geometry.batch_bytes = number();
    } else {
      return absl::InvalidArgumentError(Cat("unknown option ", name));
    }
  }
  return options;
}

// As many as a rule set has, some of them frequent.
std::vector<Literal> SomeLiterals() {
  std::vector<Literal> literals;
  std::mt19937 random(1);
  for (const char* word : {"api_key", "secret", "token", "client.", "request("}) {
    literals.push_back({word, true});
  }
  while (literals.size() < 300) {
    std::string bytes;
    for (uint32_t i = 4 + random() % 9; i > 0; --i) {
      bytes += static_cast<char>("abcdefghijklmnopqrstuvwxyz_-"[random() % 28]);
    }
    literals.push_back({bytes, random() % 2 == 0});
  }
  return literals;
}

absl::StatusOr<std::vector<Literal>> PatternsOf(const Options& options) {
  if (options.patterns.empty()) return SomeLiterals();
  return bench::ReadPatterns(options.patterns);
}

absl::StatusOr<std::string> TextOf(const Options& options) {
  if (options.text.empty()) return test::SourceText(options.bytes, 1);
  return bench::ReadText(options.text);
}

// Stretches of the text with the margin that the longest literal needs.
struct Stretch {
  Piece piece;
  uint64_t base = 0;
};

std::vector<Stretch> Cut(const std::string& text, uint64_t bytes, uint32_t margin) {
  std::vector<Stretch> stretches;
  const uint64_t owned = bytes - margin;
  for (uint64_t at = 0; at < text.size(); at += owned) {
    Stretch stretch;
    const uint64_t size = std::min<uint64_t>(bytes, text.size() - at);
    stretch.base = at;
    stretch.piece.text = {reinterpret_cast<const uint8_t*>(text.data()) + at, size};
    stretch.piece.owned_end = static_cast<uint32_t>(std::min(owned, size));
    stretches.push_back(stretch);
  }
  return stretches;
}

absl::Status TakeOne(megakernel::Session& session, const std::vector<Stretch>& stretches,
                     size_t taken, bool check, Tally& tally) {
  KS_ASSIGN_OR_RETURN(const megakernel::BatchResult result,
                      session.Next(Clock::now() + std::chrono::minutes(5)));
  if (!check) {
    tally.hits += result.hits[0].size();
    return absl::OkStatus();
  }
  const uint64_t base = stretches[taken].base;
  for (const LiteralHit& hit : result.hits[0]) {
    tally.Add(base + hit.start, base + hit.end, hit.pattern);
  }
  return absl::OkStatus();
}

absl::StatusOr<Tally> SessionRound(megakernel::Session& session, megakernel::TableHandle table,
                                   const std::vector<Stretch>& stretches, bool check) {
  Tally tally;
  size_t taken = 0;
  for (size_t next = 0; next < stretches.size() || taken < stretches.size();) {
    if (next < stretches.size()) {
      const auto id = session.Submit({table, std::span(&stretches[next].piece, 1)});
      if (id.ok()) {
        ++next;
        KS_RETURN_IF_ERROR(session.Flush());
        continue;
      }
      if (!absl::IsResourceExhausted(id.status())) return id.status();
    }
    KS_RETURN_IF_ERROR(TakeOne(session, stretches, taken++, check, tally));
  }
  return tally;
}

// Every thread takes the next stretch until none is left.
Tally VectorscanRound(const test::VectorscanOracle& oracle,
                      const std::vector<std::unique_ptr<test::VectorscanOracle::Scratch>>& scratch,
                      const std::vector<Stretch>& stretches, bool check) {
  std::atomic<size_t> next{0};
  std::vector<Tally> tallies(scratch.size());
  std::vector<std::thread> threads;
  for (size_t t = 0; t < scratch.size(); ++t) {
    threads.emplace_back([&, t] {
      Tally tally;
      for (size_t i = next++; i < stretches.size(); i = next++) {
        const Stretch& stretch = stretches[i];
        if (!check) {
          tally.hits += oracle.Count(stretch.piece.text, *scratch[t]);
          continue;
        }
        for (const LiteralHit& hit : oracle.Matches(stretch.piece.text, *scratch[t])) {
          if (hit.start >= stretch.piece.owned_end) continue;
          tally.Add(stretch.base + hit.start, stretch.base + hit.end, hit.pattern);
        }
      }
      tallies[t] = tally;
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

double Median(std::vector<double> values) { return bench::Percentile(std::move(values), 0.5); }

// Processor time of the whole process. On a shared machine it is steadier than the clock.
double CpuSeconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

struct Rates {
  std::vector<double> gb_per_s;
  std::vector<double> cpu_s_per_gb;

  template <typename Round>
  void Time(uint64_t bytes, const Round& round) {
    const double gigabytes = static_cast<double>(bytes) * 1e-9;
    const double cpu = CpuSeconds();
    const auto begin = Clock::now();
    round();
    gb_per_s.push_back(gigabytes / std::chrono::duration<double>(Clock::now() - begin).count());
    cpu_s_per_gb.push_back((CpuSeconds() - cpu) / gigabytes);
  }
};

absl::StatusOr<std::unique_ptr<backends::Device>> OpenFirst(const Options& options) {
  KS_ASSIGN_OR_RETURN(const backends::BackendKind kind,
                      backends::ParseBackendName(options.backend));
  const backends::ProbeResult probe = backends::ProbeAdapters(kind);
  if (probe.adapters.empty()) return absl::UnavailableError(probe.reason);
  return backends::OpenDevice(probe.adapters[0], {.cpu_threads = options.cpu_threads});
}

absl::Status Run(const Options& options) {
  KS_ASSIGN_OR_RETURN(const std::vector<Literal> literals, PatternsOf(options));
  KS_ASSIGN_OR_RETURN(const std::string text, TextOf(options));
  KS_ASSIGN_OR_RETURN(const megakernel::Table compiled, megakernel::CompileTable(literals));
  KS_ASSIGN_OR_RETURN(const auto device, OpenFirst(options));
  KS_ASSIGN_OR_RETURN(const auto session,
                      megakernel::Session::Open(*device, {.geometry = options.geometry,
                                                          .watchdog = std::chrono::minutes(5),
                                                          .route = options.route,
                                                          .await_tuned = true}));
  KS_ASSIGN_OR_RETURN(const megakernel::TableHandle table, session->LoadTable(compiled));
  const test::VectorscanOracle oracle(literals);
  if (!oracle.error().empty()) return absl::InternalError(oracle.error());
  std::vector<std::unique_ptr<test::VectorscanOracle::Scratch>> scratch;
  for (uint32_t i = 0; i < options.threads; ++i) {
    scratch.push_back(std::make_unique<test::VectorscanOracle::Scratch>(oracle));
  }
  const uint32_t margin = compiled.max_literal_bytes - 1;
  const auto batches = Cut(text, options.geometry.batch_bytes, margin);
  const auto chunks = Cut(text, std::min<uint64_t>(options.geometry.batch_bytes, 1 << 20), margin);

  KS_ASSIGN_OR_RETURN(const Tally ours, SessionRound(*session, table, batches, true));
  const Tally theirs = VectorscanRound(oracle, scratch, chunks, true);
  Rates session_rates, peer_rates;
  absl::Status status;
  const auto end = Clock::now() + std::chrono::duration<double>(options.seconds);
  while (status.ok() && (session_rates.gb_per_s.empty() || Clock::now() < end)) {
    session_rates.Time(text.size(),
                       [&] { status = SessionRound(*session, table, batches, false).status(); });
    peer_rates.Time(text.size(), [&] { VectorscanRound(oracle, scratch, chunks, false); });
  }
  KS_RETURN_IF_ERROR(status);

  const nlohmann::json report = {
      {"bench", "literal"},
      {"backend", options.backend},
      {"device", device->identity().name},
      {"driver", device->identity().driver},
      {"literals", literals.size()},
      {"corpus", options.text.empty() ? "generated source-like text" : options.text},
      {"text_bytes", text.size()},
      {"batch_bytes", options.geometry.batch_bytes},
      {"batches", options.geometry.batches},
      {"slots", options.geometry.slots},
      {"workgroup", options.geometry.workgroup},
      {"route", options.route == megakernel::MatchRoute::kTuned ? "tuned" : "shared"},
      {"tuned_slots", session->stats().tuned_slots},
      {"rounds", session_rates.gb_per_s.size()},
      {"hits", ours.hits},
      {"hits_equal", ours == theirs},
      {"peer", std::string("Vectorscan ") + hs_version()},
      {"peer_threads", options.threads},
      {"session_gb_per_s", Median(session_rates.gb_per_s)},
      {"peer_gb_per_s", Median(peer_rates.gb_per_s)},
      {"session_cpu_s_per_gb", Median(session_rates.cpu_s_per_gb)},
      {"peer_cpu_s_per_gb", Median(peer_rates.cpu_s_per_gb)},
      {"cpu_ratio", Median(peer_rates.cpu_s_per_gb) / Median(session_rates.cpu_s_per_gb)},
      {"ratio", Median(session_rates.gb_per_s) / Median(peer_rates.gb_per_s)}};
  std::cout << report.dump() << "\n";
  return ours == theirs ? absl::OkStatus()
                        : absl::InternalError("the session and its peer found different hits");
}

}  // namespace
}  // namespace keysieve

int main(int argc, char** argv) {
  mallopt(M_MMAP_THRESHOLD, 32 << 20);  // as the daemon does
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  const auto options = keysieve::Parse(argc, argv);
  const absl::Status status = options.ok() ? keysieve::Run(*options) : options.status();
  if (!status.ok()) std::cerr << "literal_bench: " << status << "\n";
  return status.ok() ? 0 : 1;
}
