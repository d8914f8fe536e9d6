// SPDX-License-Identifier: MIT
// The session over a resident program: publishing, ringing, parking, overflow, and a program that
// dies, hangs or answers with another epoch's records.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "backends/registry.h"
#include "evidence/base/status.h"
#include "megakernel/geometry.h"
#include "megakernel/images/images.h"
#include "megakernel/session/epoch_session.h"
#include "tests/megakernel/naive_matcher.h"
#include "tests/megakernel/resident_device.h"
#include "tests/support/counting_recorder.h"

namespace keysieve::megakernel {
namespace {

using namespace std::chrono_literals;
using backends::Clock;
using test::Bytes;
using test::NaiveMatches;
using test::ResidentDevice;
using Mood = test::ResidentDevice::Mood;

class ResidentSession : public testing::Test {
 protected:
  static constexpr Geometry kGeometry = {.slots = 64,
                                         .workgroup = 8,
                                         .tenants = 4,
                                         .batches = 3,
                                         .batch_bytes = 256 << 10,
                                         .table_bytes = 256 << 10,
                                         .hits_per_batch = 1 << 16};

  void Open(SessionOptions options = {.geometry = kGeometry}) {
    const auto probe = backends::ProbeAdapters(backends::BackendKind::kCpu);
    auto opened = backends::OpenDevice(probe.adapters[0], {.cpu_threads = 1});
    ASSERT_TRUE(opened.ok()) << opened.status();
    cpu_ = *std::move(opened);
    device_ = std::make_unique<ResidentDevice>(*cpu_);
    options.recorder = &recorder_;
    const auto layout = LayOut(options.geometry, device_->limits(), device_->identity());
    ASSERT_TRUE(layout.ok()) << layout.status();
    SessionImages images;
    images.scan = *ScanImage(backends::BackendKind::kCpu, 1);
    images.resident = ResidentDevice::ProgramImage();
    session_ = std::make_unique<EpochSession>(*device_, options, *layout, images);
    const absl::Status started = session_->Start();
    ASSERT_TRUE(started.ok()) << started;
    table_ = *session_->LoadTable(*CompileTable(literals_));
  }
  absl::StatusOr<BatchId> Submit(const std::string& text) {
    Piece piece;
    piece.text = Bytes(text);
    piece.owned_end = static_cast<uint32_t>(text.size());
    return session_->Submit({.table = table_, .pieces = std::span(&piece, 1)});
  }
  void ExpectRight(const std::string& text) {
    const auto result = session_->Next(Clock::now() + 20s);
    ASSERT_TRUE(result.ok()) << result.status();
    ASSERT_EQ(result->hits.size(), 1u);
    EXPECT_EQ(result->hits[0], NaiveMatches(literals_, Bytes(text)));
  }
  static std::string TextOf(std::mt19937& random, size_t bytes) {
    std::string text;
    while (text.size() < bytes) text += random() % 9 == 0 ? "key" : random() % 5 ? "ab " : "Token";
    text.resize(bytes);
    return text;
  }

  const std::vector<Literal> literals_ = {{"key"}, {"token", true}, {"b"}, {"yk"}};
  const std::string text_ = "the key, a Token and a key";
  test::CountingRecorder recorder_;
  std::unique_ptr<backends::Device> cpu_;
  std::unique_ptr<ResidentDevice> device_;
  std::unique_ptr<EpochSession> session_;
  TableHandle table_;
};

TEST_F(ResidentSession, BatchesOfAllSizesPassTheReadyRingAgainAndAgain) {
  ASSERT_NO_FATAL_FAILURE(Open());
  std::mt19937 random(3);
  std::vector<std::string> texts;
  for (int i = 0; i < 150; ++i) {
    texts.push_back(TextOf(random, i % 10 == 0 ? 66000 + random() % 9000 : random() % 3000));
  }
  for (size_t next = 0, taken = 0; taken < texts.size();) {
    if (next < texts.size()) {
      const auto id = Submit(texts[next]);
      if (id.ok()) {
        ASSERT_TRUE(session_->Flush().ok());
        ++next;
        continue;
      }
      ASSERT_TRUE(absl::IsResourceExhausted(id.status())) << id.status();
    }
    ASSERT_NO_FATAL_FAILURE(ExpectRight(texts[taken++]));
  }
  EXPECT_EQ(session_->policy(), SessionPolicy::kResident);
  EXPECT_EQ(device_->words(), 15u);  // the small ones were rung
  EXPECT_EQ(session_->slots_in_use(), 0u);
}

TEST_F(ResidentSession, ParksWithoutWorkAndComesBackForMore) {
  ASSERT_NO_FATAL_FAILURE(Open({.geometry = kGeometry, .park_after = 1ms}));
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(Submit(text_).ok());
    ASSERT_NO_FATAL_FAILURE(ExpectRight(text_));
    std::this_thread::sleep_for(5ms);
  }
  EXPECT_GE(device_->launches(), 4u);
  EXPECT_EQ(session_->stats().launches, device_->launches());
}

TEST_F(ResidentSession, AnOverflowIsReplayedOnceAndTheProgramComesBack) {
  Geometry geometry = kGeometry;
  geometry.hits_per_batch = 2;
  ASSERT_NO_FATAL_FAILURE(Open({.geometry = geometry}));
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(Submit(text_).ok());
    const auto result = session_->Next(Clock::now() + 20s);
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(result->hits[0], NaiveMatches(literals_, Bytes(text_)));
    EXPECT_EQ(result->replays, 1u);
  }
  EXPECT_EQ(device_->launches(), 2u);
}

TEST_F(ResidentSession, TextInPinnedMemoryIsTakenFromThere) {
  ASSERT_NO_FATAL_FAILURE(Open());
  const auto pinned = *device_->Allocate(backends::MemoryKind::kPinned, 4096);
  std::memcpy(pinned->host() + 7, text_.data(), text_.size());
  Piece piece;
  piece.text = {reinterpret_cast<const uint8_t*>(pinned->host()) + 7, text_.size()};
  piece.owned_end = static_cast<uint32_t>(text_.size());
  ASSERT_TRUE(
      session_->Submit({.table = table_, .pieces = std::span(&piece, 1), .pinned = pinned.get()})
          .ok());
  ExpectRight(text_);
  piece.text = Bytes(text_);
  EXPECT_EQ(
      session_->Submit({.table = table_, .pieces = std::span(&piece, 1), .pinned = pinned.get()})
          .status()
          .code(),
      absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(session_->slots_in_use(), 0u);
}

TEST_F(ResidentSession, AProgramThatDiesIsALoss) {
  ASSERT_NO_FATAL_FAILURE(Open());
  device_->set_mood(Mood::kDies);
  ASSERT_TRUE(Submit(text_).ok());
  ASSERT_TRUE(Submit(text_).ok());
  EXPECT_EQ(session_->Next(Clock::now() + 20s).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_TRUE(session_->ended());
  EXPECT_TRUE(device_->abandoned());
  EXPECT_EQ(session_->batches_in_flight(), 0u);
  EXPECT_EQ(Submit(text_).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(recorder_.residual, 2u);
}

TEST_F(ResidentSession, AProgramThatHangsMeetsTheWatchdog) {
  ASSERT_NO_FATAL_FAILURE(Open({.geometry = kGeometry, .watchdog = 100ms}));
  device_->set_mood(Mood::kHangs);
  ASSERT_TRUE(Submit(text_).ok());
  EXPECT_EQ(session_->Next(Clock::now() + 20s).status().code(),
            absl::StatusCode::kDeadlineExceeded);
  EXPECT_TRUE(session_->ended());
  EXPECT_TRUE(device_->abandoned());
}

TEST_F(ResidentSession, ARecordOfAnotherEpochIsNoHit) {
  ASSERT_NO_FATAL_FAILURE(Open());
  device_->set_mood(Mood::kForgetsTags);
  ASSERT_TRUE(Submit(text_).ok());
  EXPECT_EQ(session_->Next(Clock::now() + 20s).status().code(), absl::StatusCode::kInternal);
  EXPECT_EQ(recorder_.faults_of(evidence::FaultKind::kIntegrity), 1u);
  device_->set_mood(Mood::kWell);
  ASSERT_TRUE(Submit(text_).ok());
  ExpectRight(text_);
}

}  // namespace
}  // namespace keysieve::megakernel
