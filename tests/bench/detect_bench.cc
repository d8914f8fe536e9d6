// SPDX-License-Identifier: MIT
// Detection as the daemon does it, from blobs in memory to findings: a lane on one backend, then
// the regexes round the hits on a worker pool. Beside it, in alternating rounds, its peer:
// Vectorscan with every regex, then RE2 over the blob for each rule that it reports. The peer
// judges no entropy and no allowlist and numbers no lines: it does less. One line of JSON says what
// was measured.
//
//   detect_bench --rules gitleaks.toml --text corpus.bin --threads 2 --seconds 20
#include <hs/hs.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "backends/registry.h"
#include "daemon/detect/blob_scan.h"
#include "daemon/detect/compiled_rules.h"
#include "daemon/detect/rule_merge.h"
#include "daemon/scheduler/lane.h"
#include "daemon/scheduler/worker_pool.h"
#include "evidence/base/status.h"

namespace keysieve {
namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  std::string backend = "cpu", rules, text;
  double seconds = 10;
  uint32_t threads = std::max(1u, std::thread::hardware_concurrency());
};

absl::StatusOr<Options> Parse(int argc, char** argv) {
  Options options;
  if (argc % 2 == 0) return absl::InvalidArgumentError("every option takes a value");
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i], value = argv[i + 1];
    if (name == "--backend") {
      options.backend = value;
    } else if (name == "--rules") {
      options.rules = value;
    } else if (name == "--text") {
      options.text = value;
    } else if (name == "--seconds") {
      options.seconds = std::strtod(value.c_str(), nullptr);
    } else if (name == "--threads") {
      options.threads = static_cast<uint32_t>(std::strtoul(value.c_str(), nullptr, 10));
    } else {
      return absl::InvalidArgumentError(Cat("unknown option ", name));
    }
  }
  return options;
}

struct Corpus {
  std::string bytes;
  std::vector<std::string_view> blobs;
};

// Blobs of the sizes source files have, 1 to 64 KiB and most of them small, each ending at a line's
// end where one is near.
absl::StatusOr<Corpus> ReadCorpus(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return absl::NotFoundError(Cat("cannot read the text ", path));
  Corpus corpus;
  corpus.bytes.assign(std::istreambuf_iterator<char>(file), {});
  const std::string_view all = corpus.bytes;
  uint64_t state = 1;
  for (size_t at = 0; at < all.size();) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    size_t size = 1024u << ((state >> 33) % 7);
    size += (state >> 40) % size;
    const size_t line = all.find('\n', std::min(at + size, all.size()));
    const size_t end =
        line == std::string_view::npos || line > at + 2 * size ? at + size : line + 1;
    corpus.blobs.push_back(all.substr(at, end - at));
    at = std::min(end, all.size());
  }
  return corpus;
}

double CpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

struct Round {
  double wall = 0;
  double cpu = 0;
  double confirm_cpu = 0;  // of the confirming threads, where that is apart
  uint64_t hits = 0;
  uint64_t found = 0;  // findings, or the peer's matches
};

double ThreadSeconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// ---- The daemon's way.

class Detection {
 public:
  static absl::StatusOr<std::unique_ptr<Detection>> Open(const Options& options,
                                                         const detect::CompiledRules& rules) {
    KS_ASSIGN_OR_RETURN(const auto kind, backends::ParseBackendName(options.backend));
    const backends::ProbeResult probe = backends::ProbeAdapters(kind);
    if (probe.adapters.empty()) return absl::UnavailableError(probe.reason);
    auto detection = std::make_unique<Detection>(options, rules);
    KS_ASSIGN_OR_RETURN(auto table, megakernel::CompileTable(rules.gate.literals()));
    detection->table_ = std::make_shared<const megakernel::Table>(std::move(table));
    const auto open = [identity = probe.adapters[0],
                       threads = options.threads]() -> absl::StatusOr<scheduler::LaneParts> {
      scheduler::LaneParts parts;
      KS_ASSIGN_OR_RETURN(parts.device, backends::OpenDevice(identity, {.cpu_threads = threads}));
      KS_ASSIGN_OR_RETURN(parts.session, megakernel::Session::Open(*parts.device, {}));
      return parts;
    };
    detection->lane_ = std::make_unique<scheduler::Lane>(
        scheduler::LaneOptions{.identity = probe.adapters[0]}, open, nullptr);
    KS_RETURN_IF_ERROR(detection->lane_->Start());
    return detection;
  }

  Detection(const Options& options, const detect::CompiledRules& rules)
      : rules_(rules), workers_(options.threads) {}

  absl::StatusOr<Round> Run(const Corpus& corpus, bool confirm) {
    Round round;
    Tally tally;
    const double cpu = CpuSeconds();
    const auto begin = Clock::now();
    for (const std::string_view blob : corpus.blobs) Submit(blob, confirm, &tally);
    for (uint64_t done = tally.done; done < corpus.blobs.size(); done = tally.done) {
      tally.done.wait(done);
    }
    round.wall = std::chrono::duration<double>(Clock::now() - begin).count();
    round.cpu = CpuSeconds() - cpu;
    round.confirm_cpu = static_cast<double>(tally.confirm_ns) * 1e-9;
    round.hits = tally.hits;
    round.found = tally.findings;
    if (tally.failed) return absl::InternalError("a blob was not matched");
    return round;
  }

 private:
  struct Tally {
    std::atomic<uint64_t> done{0}, hits{0}, findings{0}, confirm_ns{0};
    std::atomic<bool> failed{false};
  };

  void Submit(std::string_view blob, bool confirm, Tally* tally) {
    scheduler::MatchJob job;
    job.bytes = {reinterpret_cast<const uint8_t*>(blob.data()), blob.size()};
    job.table = table_;
    job.request = 1;
    job.done = [this, blob, confirm, tally](scheduler::MatchOutcome outcome) {
      tally->hits += outcome.hits.size();
      if (!outcome.status.ok()) tally->failed = true;
      if (!confirm) return Done(tally);
      workers_.Post(1, [this, blob, tally, outcome = std::move(outcome)] {
        const double begin = ThreadSeconds();
        const detect::BlobView view{.path = "a.txt", .bytes = blob, .commit = {}};
        tally->findings += detect::BlobScan(rules_, view, outcome.hits, true).Run().size();
        tally->confirm_ns += static_cast<uint64_t>((ThreadSeconds() - begin) * 1e9);
        Done(tally);
      });
    };
    lane_->Submit(std::move(job));
  }
  static void Done(Tally* tally) {
    ++tally->done;
    tally->done.notify_all();
  }

  const detect::CompiledRules& rules_;
  std::shared_ptr<const megakernel::Table> table_;
  std::unique_ptr<scheduler::Lane> lane_;
  scheduler::WorkerPool workers_;
};

// ---- The peer.

class Peer {
 public:
  static absl::StatusOr<std::unique_ptr<Peer>> Compile(const detect::CompiledRules& rules) {
    std::vector<const char*> patterns;
    std::vector<unsigned> flags, ids;
    for (uint32_t i = 0; i < rules.rules.size(); ++i) {
      if (rules.rules[i].regex == nullptr) continue;
      patterns.push_back(rules.rules[i].regex->pattern().c_str());
      flags.push_back(HS_FLAG_SINGLEMATCH | HS_FLAG_ALLOWEMPTY);
      ids.push_back(i);
    }
    auto peer = std::make_unique<Peer>(rules);
    hs_compile_error_t* error = nullptr;
    if (hs_compile_multi(patterns.data(), flags.data(), ids.data(),
                         static_cast<unsigned>(patterns.size()), HS_MODE_BLOCK, nullptr,
                         &peer->database_, &error) != HS_SUCCESS) {
      return absl::InternalError(Cat("Vectorscan refuses a regex: ", error->message));
    }
    return peer;
  }
  explicit Peer(const detect::CompiledRules& rules) : rules_(rules) {}
  ~Peer() { hs_free_database(database_); }

  Round Run(const Corpus& corpus, uint32_t thread_count) const {
    Round round;
    std::atomic<size_t> next{0};
    std::atomic<uint64_t> found{0};
    const double cpu = CpuSeconds();
    const auto begin = Clock::now();
    std::vector<std::thread> threads;
    for (uint32_t t = 0; t < thread_count; ++t) {
      threads.emplace_back([&] {
        hs_scratch_t* scratch = nullptr;
        hs_alloc_scratch(database_, &scratch);
        std::vector<uint32_t> reported;
        for (size_t i = next++; i < corpus.blobs.size(); i = next++) {
          found += MatchesIn(corpus.blobs[i], scratch, &reported);
        }
        hs_free_scratch(scratch);
      });
    }
    for (std::thread& thread : threads) thread.join();
    round.wall = std::chrono::duration<double>(Clock::now() - begin).count();
    round.cpu = CpuSeconds() - cpu;
    round.found = found;
    return round;
  }

 private:
  uint64_t MatchesIn(std::string_view blob, hs_scratch_t* scratch,
                     std::vector<uint32_t>* reported) const {
    reported->clear();
    const auto report = [](unsigned id, unsigned long long, unsigned long long, unsigned,
                           void* context) {
      static_cast<std::vector<uint32_t>*>(context)->push_back(id);
      return 0;
    };
    hs_scan(database_, blob.data(), static_cast<unsigned>(blob.size()), 0, scratch, report,
            reported);
    uint64_t matches = 0;
    const re2::StringPiece text(blob.data(), blob.size());
    for (const uint32_t rule : *reported) {
      re2::StringPiece match;
      const re2::RE2& re = rules_.rules[rule].regex->re2();
      for (size_t at = 0;
           at <= text.size() && re.Match(text, at, text.size(), re2::RE2::UNANCHORED, &match, 1);) {
        ++matches;
        at = static_cast<size_t>(match.data() - text.data()) + std::max<size_t>(1, match.size());
      }
    }
    return matches;
  }

  const detect::CompiledRules& rules_;
  hs_database_t* database_ = nullptr;
};

double Median(std::vector<Round> rounds, double Round::*field) {
  std::sort(rounds.begin(), rounds.end(),
            [&](const Round& a, const Round& b) { return a.*field < b.*field; });
  return rounds.empty() ? 0 : rounds[rounds.size() / 2].*field;
}

absl::Status Run(const Options& options) {
  std::vector<std::string> warnings;
  KS_ASSIGN_OR_RETURN(const std::string toml, detect::ReadRuleFile(options.rules));
  KS_ASSIGN_OR_RETURN(const auto set, detect::ReadRuleSet(toml, options.rules, {}, &warnings));
  KS_ASSIGN_OR_RETURN(const auto rules, detect::CompileRules(set, {}, &warnings));
  KS_ASSIGN_OR_RETURN(const Corpus corpus, ReadCorpus(options.text));
  KS_ASSIGN_OR_RETURN(const auto detection, Detection::Open(options, rules));
  KS_ASSIGN_OR_RETURN(const auto peer, Peer::Compile(rules));
  std::vector<Round> ours, session_only, theirs;
  const auto end = Clock::now() + std::chrono::duration<double>(options.seconds);
  KS_RETURN_IF_ERROR(detection->Run(corpus, true).status());  // RE2 is cold, and so is the memory
  peer->Run(corpus, options.threads);
  do {
    KS_ASSIGN_OR_RETURN(ours.emplace_back(), detection->Run(corpus, true));
    theirs.push_back(peer->Run(corpus, options.threads));
    KS_ASSIGN_OR_RETURN(session_only.emplace_back(), detection->Run(corpus, false));
  } while (Clock::now() < end);
  const double bytes = static_cast<double>(corpus.bytes.size());
  const nlohmann::json report = {
      {"bench", "detect"},
      {"backend", options.backend},
      {"threads", options.threads},
      {"rules", rules.rules.size()},
      {"literals", rules.gate.literals().size()},
      {"text_bytes", corpus.bytes.size()},
      {"blobs", corpus.blobs.size()},
      {"rounds", ours.size()},
      {"hits", ours[0].hits},
      {"findings", ours[0].found},
      {"wall_s", Median(ours, &Round::wall)},
      {"cpu_s", Median(ours, &Round::cpu)},
      {"mb_per_s", bytes * 1e-6 / Median(ours, &Round::wall)},
      {"session_only_wall_s", Median(session_only, &Round::wall)},
      {"session_only_cpu_s", Median(session_only, &Round::cpu)},
      {"confirm_cpu_s", Median(ours, &Round::confirm_cpu)},
      {"peer", Cat("Vectorscan ", hs_version(), ", every regex, then RE2")},
      {"peer_matches", theirs[0].found},
      {"peer_wall_s", Median(theirs, &Round::wall)},
      {"peer_cpu_s", Median(theirs, &Round::cpu)},
      {"ratio_wall", Median(theirs, &Round::wall) / Median(ours, &Round::wall)},
      {"ratio_cpu", Median(theirs, &Round::cpu) / Median(ours, &Round::cpu)}};
  std::cout << report.dump() << "\n";
  return absl::OkStatus();
}

}  // namespace
}  // namespace keysieve

int main(int argc, char** argv) {
  const auto options = keysieve::Parse(argc, argv);
  const absl::Status status = options.ok() ? keysieve::Run(*options) : options.status();
  if (!status.ok()) std::cerr << "detect_bench: " << status << "\n";
  return status.ok() ? 0 : 1;
}
