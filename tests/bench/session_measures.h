// SPDX-License-Identifier: MIT
// What session_bench measures, a function each, and the bed they share: one device, the text in
// pinned memory, a compiled table.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "backends/device.h"
#include "megakernel/session.h"

namespace keysieve::bench {

struct MeasureOptions {
  std::string backend = "cuda";
  std::string patterns, text, only;
  double seconds = 3;  // of each measurement
  uint32_t threads = 1;
  uint32_t repeat = 4;          // of the text
  uint32_t decode_threads = 0;  // 0 = the session's choice
};

// A stretch of the pinned text as one piece, with the margin that the longest literal needs.
struct Stretch {
  megakernel::Piece piece;
  uint64_t base = 0;
};

class TestBed {
 public:
  static absl::StatusOr<std::unique_ptr<TestBed>> Open(const MeasureOptions& options);

  backends::Device& device() { return *device_; }
  const MeasureOptions& options() const { return options_; }
  const std::vector<megakernel::Literal>& literals() const { return literals_; }
  const megakernel::Table& table() const { return table_; }
  const backends::Buffer& pinned() const { return *pinned_; }
  uint64_t text_bytes() const { return text_bytes_; }
  std::span<const uint8_t> text() const;

  // The text cut into stretches of `bytes`.
  std::vector<Stretch> Cut(uint64_t bytes) const;
  absl::StatusOr<std::unique_ptr<megakernel::Session>> OpenSession(
      const megakernel::Geometry& geometry, megakernel::SessionPolicy policy);
  // Prints a line with what is true of every measurement added.
  void Report(const std::string& name, nlohmann::json fields) const;

 private:
  MeasureOptions options_;
  std::vector<megakernel::Literal> literals_;
  megakernel::Table table_;
  std::unique_ptr<backends::Device> device_;
  std::unique_ptr<backends::Buffer> pinned_;
  uint64_t text_bytes_ = 0;
};

// Pinned memory to hits in host memory, against copies of the same size, 4 MiB and more.
absl::Status MeasureBulk(TestBed& bed);
// Chunks of 64 KiB, each its own piece, against the zero-copy ceiling.
absl::Status MeasureChunks(TestBed& bed);
// Text in device memory against a device copy; both by the device's clock.
absl::Status MeasureDeviceResident(TestBed& bed);
// One scan of 4 KiB or 64 KiB at a time, resident against launch and wait.
absl::Status MeasureLatency(TestBed& bed);
// 4 KiB scans while bulk runs, and what bulk keeps.
absl::Status MeasureMixed(TestBed& bed);
// Pinned memory to hits against Vectorscan on all cores; the hits must be the same.
absl::Status MeasurePeer(TestBed& bed);

// A round goes over the text this often, so that its beginning and end weigh little.
inline constexpr uint32_t kPasses = 4;

// Submits every stretch as a batch, kPasses times, and takes every result. Returns hits found.
absl::StatusOr<uint64_t> BulkRound(megakernel::Session& session, megakernel::TableHandle table,
                                   const TestBed& bed, const std::vector<Stretch>& stretches);

}  // namespace keysieve::bench
