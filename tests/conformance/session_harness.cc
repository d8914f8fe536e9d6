// SPDX-License-Identifier: MIT
#include "tests/conformance/session_harness.h"

#include <algorithm>
#include <utility>

#include "backends/registry.h"
#include "evidence/base/status.h"
#include "megakernel/abi.inl"
#include "megakernel/resident.inl"
#include "tests/megakernel/forwarding_device.h"

namespace keysieve::test {

using namespace std::chrono_literals;

namespace {

// Passes everything on, but fills the hit queue with rubbish before each launch, and a resident
// program's before each batch.
class PoisoningDevice final : public ForwardingDevice {
 public:
  using ForwardingDevice::ForwardingDevice;
  absl::StatusOr<backends::Ticket> Submit(const backends::Submission& submission) override {
    if (submission.launch == nullptr) return ForwardingDevice::Submit(submission);
    std::vector<backends::Fill> fills(submission.fills.begin(), submission.fills.end());
    fills.push_back({submission.launch->bindings[KS_BIND_HITS], 0x00100003});
    backends::Submission poisoned = submission;
    poisoned.fills = fills;
    return ForwardingDevice::Submit(poisoned);
  }
  absl::StatusOr<backends::Ticket> StartResident(const backends::Launch& launch) override {
    hits_ = launch.bindings[KS_RES_BIND_HITS];
    return ForwardingDevice::StartResident(launch);
  }
  absl::StatusOr<backends::Ticket> CopyThenWriteWord(std::span<const backends::Copy> uploads,
                                                     backends::BufferRange word,
                                                     uint32_t value) override {
    if (hits_.buffer != nullptr && hits_.buffer->host() != nullptr) {
      auto* words = reinterpret_cast<uint32_t*>(hits_.buffer->host() + hits_.offset);
      std::fill_n(words, hits_.bytes / 4, 0x00100003);
    }
    return ForwardingDevice::CopyThenWriteWord(uploads, word, value);
  }

 private:
  backends::BufferRange hits_;
};

}  // namespace

SessionHarness::SessionHarness(const Way& way, const megakernel::Geometry& geometry, bool poison) {
  const backends::ProbeResult probe = backends::ProbeAdapters(way.backend);
  if (probe.adapters.empty()) {
    absent_ = probe.reason.empty() ? "no adapter" : probe.reason;
    return;
  }
  auto device = backends::OpenDevice(probe.adapters[0], {.cpu_threads = 2});
  if (!device.ok()) {
    failure_ = Message(device.status());
    return;
  }
  device_ = *std::move(device);
  if (poison) poisoner_ = std::make_unique<PoisoningDevice>(*device_);
  auto session =
      megakernel::Session::Open(poison ? *poisoner_ : *device_, {.geometry = geometry,
                                                                 .watchdog = 120s,
                                                                 .route = way.route,
                                                                 .await_tuned = true,
                                                                 .policy = way.policy,
                                                                 .park_after = way.park_after});
  if (!session.ok()) {
    failure_ = Message(session.status());
    return;
  }
  session_ = *std::move(session);
}

SessionHarness::~SessionHarness() = default;

megakernel::TableHandle SessionHarness::Load(std::span<const megakernel::Literal> literals) {
  const auto table = megakernel::CompileTable(literals);
  EXPECT_TRUE(table.ok()) << table.status();
  if (!table.ok()) return {};
  const auto handle = session_->LoadTable(*table);
  EXPECT_TRUE(handle.ok()) << handle.status();
  return handle.ok() ? *handle : megakernel::TableHandle{};
}

megakernel::BatchResult SessionHarness::Take() {
  auto result = session_->Next(backends::Clock::now() + 120s);
  EXPECT_TRUE(result.ok()) << result.status();
  return result.ok() ? *std::move(result) : megakernel::BatchResult{};
}

megakernel::BatchResult SessionHarness::ScanBatch(megakernel::TableHandle table,
                                                  std::span<const megakernel::Piece> pieces) {
  const auto id = session_->Submit({.table = table, .pieces = pieces});
  EXPECT_TRUE(id.ok()) << id.status();
  if (!id.ok()) return {};
  return Take();
}

PieceHits SessionHarness::Scan(megakernel::TableHandle table,
                               std::span<const megakernel::Piece> pieces) {
  return ScanBatch(table, pieces).hits;
}

megakernel::Piece WholePiece(const std::string& text) {
  megakernel::Piece piece;
  piece.text = {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
  piece.owned_end = static_cast<uint32_t>(text.size());
  return piece;
}

}  // namespace keysieve::test
