// SPDX-License-Identifier: MIT
// The session against the limits of its device, in one program: each figure's reference runs
// alternately with it in the same minute. One line of JSON a measurement.
//
//   session_bench --patterns patterns.txt --text corpus.bin [--backend cuda] [--only bulk,latency]
//                 [--seconds 3] [--threads 16] [--repeat 4]
//
// The text is taken `repeat` times over, so that a round is long against its beginning and end.
#include <malloc.h>

#include <iostream>
#include <map>
#include <thread>

#include "evidence/base/status.h"
#include "tests/bench/session_measures.h"

namespace keysieve::bench {
namespace {

absl::StatusOr<MeasureOptions> Parse(int argc, char** argv) {
  if (argc % 2 == 0) return absl::InvalidArgumentError("every option takes a value");
  MeasureOptions options;
  options.threads = std::max(1u, std::thread::hardware_concurrency());
  std::map<std::string, std::string> given;
  for (int i = 1; i + 1 < argc; i += 2) given[argv[i]] = argv[i + 1];
  for (const auto& [name, value] : given) {
    if (name == "--backend") {
      options.backend = value;
    } else if (name == "--patterns") {
      options.patterns = value;
    } else if (name == "--text") {
      options.text = value;
    } else if (name == "--only") {
      options.only = value;
    } else if (name == "--seconds") {
      options.seconds = std::strtod(value.c_str(), nullptr);
    } else if (name == "--decode-threads") {
      options.decode_threads = static_cast<uint32_t>(std::strtoul(value.c_str(), nullptr, 10));
    } else if (name == "--repeat") {
      options.repeat = static_cast<uint32_t>(std::strtoul(value.c_str(), nullptr, 10));
    } else if (name == "--threads") {
      options.threads = static_cast<uint32_t>(std::strtoul(value.c_str(), nullptr, 10));
    } else {
      return absl::InvalidArgumentError(Cat("unknown option ", name));
    }
  }
  if (options.patterns.empty() || options.text.empty()) {
    return absl::InvalidArgumentError("--patterns FILE and --text FILE are needed");
  }
  return options;
}

absl::Status Run(int argc, char** argv) {
  KS_ASSIGN_OR_RETURN(const MeasureOptions options, Parse(argc, argv));
  KS_ASSIGN_OR_RETURN(const auto bed, TestBed::Open(options));
  struct Measure {
    const char* name;
    absl::Status (*run)(TestBed&);
  };
  const Measure measures[] = {
      {"bulk", MeasureBulk},       {"chunks", MeasureChunks}, {"device", MeasureDeviceResident},
      {"latency", MeasureLatency}, {"mixed", MeasureMixed},   {"peer", MeasurePeer}};
  for (const Measure& measure : measures) {
    if (!options.only.empty() && options.only.find(measure.name) == std::string::npos) continue;
    KS_RETURN_IF_ERROR(measure.run(*bed));
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace keysieve::bench

int main(int argc, char** argv) {
  // As the daemon does: results are large and short-lived.
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  const absl::Status status = keysieve::bench::Run(argc, argv);
  if (!status.ok()) std::cerr << "session_bench: " << status << "\n";
  return status.ok() ? 0 : 1;
}
