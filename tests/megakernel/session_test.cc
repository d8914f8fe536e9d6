// SPDX-License-Identifier: MIT
// The session on a fake device whose faults a script names: what becomes of batches, slots, text
// and evidence when submissions fail, hang, are lost or come back damaged.
#include "megakernel/session.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "backends/cpu/host_work.h"
#include "megakernel/abi.inl"
#include "tests/megakernel/forwarding_device.h"
#include "tests/megakernel/naive_matcher.h"
#include "tests/support/counting_recorder.h"
#include "tests/support/fake_device.h"

namespace keysieve::megakernel {
namespace {

using namespace std::chrono_literals;
using evidence::FaultKind;
using evidence::Traffic;
using test::Bytes;
using test::CountingRecorder;
using test::FakeDevice;
using test::FakeOptions;
using test::NaiveMatches;

class SessionTest : public testing::Test {
 protected:
  static constexpr Geometry kGeometry = {.slots = 32,
                                         .workgroup = 8,
                                         .tenants = 4,
                                         .batches = 3,
                                         .batch_bytes = 64 << 10,
                                         .table_bytes = 256 << 10,
                                         .hits_per_batch = 4096};

  void Open(FakeOptions options = {}, Geometry geometry = kGeometry) {
    device_ = std::make_unique<FakeDevice>(std::move(options), &recorder_);
    auto session = Session::Open(*device_, {.geometry = geometry, .recorder = &recorder_});
    ASSERT_TRUE(session.ok()) << session.status();
    session_ = *std::move(session);
    const auto table = session_->LoadTable(*CompileTable(literals_));
    ASSERT_TRUE(table.ok()) << table.status();
    table_ = *table;
  }
  absl::StatusOr<BatchId> Submit(const std::string& text, uint32_t attempt = 0) {
    Piece piece;
    piece.text = Bytes(text);
    piece.owned_end = static_cast<uint32_t>(text.size());
    return session_->Submit({.table = table_, .pieces = std::span(&piece, 1), .attempt = attempt});
  }
  absl::StatusOr<BatchResult> Next() { return session_->Next(device_->now() + 1h); }
  void ExpectRight(const std::string& text, const absl::StatusOr<BatchResult>& result) {
    ASSERT_TRUE(result.ok()) << result.status();
    ASSERT_EQ(result->hits.size(), 1u);
    EXPECT_EQ(result->hits[0], NaiveMatches(literals_, Bytes(text)));
  }
  // Tickets of the epochs to come, one a batch as long as nothing overflows.
  backends::Ticket NextTicket() const { return device_->submits() + 1; }

  const std::vector<Literal> literals_ = {{"key", true}, {"AKIA"}, {"x"}};
  const std::string text_ = "a Key, AKIA, xx and keykey";
  CountingRecorder recorder_;
  std::unique_ptr<FakeDevice> device_;
  std::unique_ptr<Session> session_;
  TableHandle table_;
};

TEST_F(SessionTest, GivesResultsInSubmissionOrder) {
  ASSERT_NO_FATAL_FAILURE(Open({.run_late = true}));
  const std::string texts[] = {text_, "x", "no match"};
  for (const std::string& text : texts) ASSERT_TRUE(Submit(text).ok());
  EXPECT_EQ(session_->batches_in_flight(), 3u);
  ASSERT_TRUE(session_->Flush().ok());
  for (size_t i = 0; i < 3; ++i) {
    const auto result = Next();
    ExpectRight(texts[i], result);
    EXPECT_EQ(result->id, i + 1);
    EXPECT_EQ(result->device_ns, 10000u);
  }
  EXPECT_EQ(Next().status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(recorder_.faults_in_all(), 0u);
}

TEST_F(SessionTest, RefusesABatchTooManyAndTakesItLater) {
  ASSERT_NO_FATAL_FAILURE(Open());
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(Submit(text_).ok());
  EXPECT_EQ(Submit("x").status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(session_->batches_in_flight(), 3u);
  ExpectRight(text_, Next());
  ASSERT_TRUE(Submit("x").ok());
  for (int i = 0; i < 2; ++i) ExpectRight(text_, Next());
  ExpectRight("x", Next());
}

TEST_F(SessionTest, CountsTextTrafficAsTheBytesSubmitted) {
  ASSERT_NO_FATAL_FAILURE(Open());
  uint64_t submitted = 0;
  std::mt19937 random(1);
  for (int i = 0; i < 20; ++i) {
    const std::string text(random() % 5000, 'x');
    submitted += text.size();
    ASSERT_TRUE(Submit(text).ok());
    ExpectRight(text, Next());
  }
  EXPECT_EQ(recorder_.uploaded(Traffic::kText), submitted);
  EXPECT_GT(recorder_.uploaded(Traffic::kTable), 0u);
  EXPECT_GT(recorder_.uploaded(Traffic::kControl), 0u);
  EXPECT_GT(recorder_.read_back(Traffic::kHits), 0u);
  EXPECT_EQ(recorder_.read_back(Traffic::kText), 0u);
}

TEST_F(SessionTest, AFailedDispatchGivesTheSlotsBackAndTheBatchCanComeAgain) {
  ASSERT_NO_FATAL_FAILURE(Open());
  device_->script().fail_tickets = {NextTicket()};
  ASSERT_TRUE(Submit(text_).ok());
  ASSERT_TRUE(Submit("x").ok());
  EXPECT_EQ(Next().status().code(), absl::StatusCode::kInternal);
  EXPECT_FALSE(session_->ended());
  ExpectRight("x", Next());
  EXPECT_EQ(recorder_.residual, 1u);
  EXPECT_EQ(recorder_.faults_of(FaultKind::kDispatch), 1u);
  EXPECT_EQ(recorder_.faults_in_all(), 1u);
  ASSERT_TRUE(Submit(text_, 1).ok());
  ExpectRight(text_, Next());
  EXPECT_EQ(recorder_.retried, 1u);
  for (int i = 0; i < 20; ++i) {  // no slot was lost
    ASSERT_TRUE(Submit(text_).ok());
    ExpectRight(text_, Next());
  }
}

TEST_F(SessionTest, ARefusedSubmissionIsToldInItsPlace) {
  ASSERT_NO_FATAL_FAILURE(Open());
  device_->script().refuse_submits = {device_->submits() + 2};
  for (const char* text : {"x", "xx", "xxx"}) ASSERT_TRUE(Submit(text).ok());
  EXPECT_TRUE(session_->Flush().ok());
  ExpectRight("x", Next());
  EXPECT_EQ(Next().status().code(), absl::StatusCode::kInternal);
  ExpectRight("xxx", Next());
}

TEST_F(SessionTest, AHangEndsTheSessionAndTheDeviceIsLeftAlone) {
  ASSERT_NO_FATAL_FAILURE(Open());
  device_->script().hang_ticket = NextTicket() + 1;
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(Submit(text_).ok());
  ExpectRight(text_, Next());
  EXPECT_EQ(Next().status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_TRUE(session_->ended());
  EXPECT_TRUE(device_->abandoned());
  EXPECT_EQ(session_->batches_in_flight(), 0u);
  EXPECT_EQ(recorder_.faults_of(FaultKind::kTimeout), 1u);
  EXPECT_EQ(recorder_.faults_in_all(), 1u);
  EXPECT_EQ(recorder_.residual, 2u);
  EXPECT_EQ(Next().status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(Submit(text_).status().code(), absl::StatusCode::kDeadlineExceeded);
  (void)session_->Shutdown(device_->now() + 1s);
  session_.reset();
  EXPECT_EQ(device_->calls_after_abandon(), 0u);
}

TEST_F(SessionTest, ACallersDeadlineLeavesTheBatchInFlight) {
  ASSERT_NO_FATAL_FAILURE(Open());
  device_->script().slow[NextTicket()] = 500ms;
  ASSERT_TRUE(Submit(text_).ok());
  EXPECT_EQ(session_->Next(device_->now() + 100ms).status().code(),
            absl::StatusCode::kDeadlineExceeded);
  EXPECT_FALSE(session_->ended());
  EXPECT_EQ(session_->batches_in_flight(), 1u);
  ExpectRight(text_, Next());
  EXPECT_EQ(recorder_.faults_in_all(), 0u);
}

TEST_F(SessionTest, ALostDeviceEndsTheSession) {
  ASSERT_NO_FATAL_FAILURE(Open());
  device_->script().lose_ticket = NextTicket();
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(Submit(text_).ok());
  EXPECT_EQ(Next().status().code(), absl::StatusCode::kDataLoss);
  EXPECT_TRUE(session_->ended());
  EXPECT_EQ(session_->Flush().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(session_->LoadTable(*CompileTable(literals_)).status().code(),
            absl::StatusCode::kDataLoss);
  EXPECT_EQ(recorder_.faults_of(FaultKind::kDeviceLost), 1u);
  EXPECT_EQ(recorder_.faults_in_all(), 1u);
  EXPECT_EQ(recorder_.residual, 2u);
}

// Every single damaged byte is noticed, or changes only what is no answer: hits stay in bounds.
TEST_F(SessionTest, DamagedReadbacksAreIntegrityFaultsOrHarmless) {
  ASSERT_NO_FATAL_FAILURE(Open());
  std::mt19937 random(77);
  const auto want = NaiveMatches(literals_, Bytes(text_));
  int noticed = 0;
  for (int round = 0; round < 1500; ++round) {
    const uint64_t offset = round % 2 ? random() % 2600 : 2300 + random() % 250;
    device_->script().corrupt = {
        {NextTicket(), {.offset = offset, .mask = static_cast<uint8_t>(1 + random() % 255)}}};
    ASSERT_TRUE(Submit(text_).ok());
    const auto result = Next();
    if (!result.ok()) {
      EXPECT_EQ(result.status().code(), absl::StatusCode::kInternal);
      ++noticed;
      continue;
    }
    ASSERT_EQ(result->hits.size(), 1u);
    EXPECT_EQ(result->hits[0].size(), want.size());
    for (const LiteralHit& hit : result->hits[0]) {
      EXPECT_LE(hit.end, text_.size());
      EXPECT_LT(hit.pattern, literals_.size());
    }
  }
  EXPECT_GT(noticed, 100);
  EXPECT_EQ(recorder_.faults_of(FaultKind::kIntegrity), static_cast<uint64_t>(noticed));
  EXPECT_EQ(recorder_.residual, static_cast<uint64_t>(noticed));
  device_->script().corrupt.clear();
  ASSERT_TRUE(Submit(text_).ok());
  ExpectRight(text_, Next());
}

TEST_F(SessionTest, AnOverflowIsNoFault) {
  Geometry small = kGeometry;
  small.hits_per_batch = 2;
  ASSERT_NO_FATAL_FAILURE(Open({}, small));
  ASSERT_TRUE(Submit(text_).ok());
  const auto result = Next();
  ExpectRight(text_, result);
  EXPECT_EQ(result->replays, 1u);
  EXPECT_EQ(recorder_.replayed, 1u);
  EXPECT_EQ(recorder_.faults_in_all(), 0u);
  EXPECT_EQ(recorder_.residual, 0u);
  EXPECT_EQ(recorder_.uploaded(Traffic::kText), text_.size());  // the text is not sent again
}

TEST_F(SessionTest, AFailedReplayLosesOnlyItsBatch) {
  Geometry small = kGeometry;
  small.hits_per_batch = 2;
  ASSERT_NO_FATAL_FAILURE(Open({}, small));
  device_->script().fail_tickets = {NextTicket() + 1};
  ASSERT_TRUE(Submit(text_).ok());
  EXPECT_EQ(Next().status().code(), absl::StatusCode::kInternal);
  ASSERT_TRUE(Submit(text_).ok());
  ExpectRight(text_, Next());
}

TEST_F(SessionTest, StaleTablesAreRefused) {
  ASSERT_NO_FATAL_FAILURE(Open());
  ASSERT_TRUE(Submit(text_).ok());
  ASSERT_TRUE(session_->EvictTable(table_).ok());
  EXPECT_EQ(Submit(text_).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(session_->EvictTable(table_).code(), absl::StatusCode::kNotFound);
  ExpectRight(text_, Next());  // in flight when its table was evicted
}

TEST_F(SessionTest, ADamagedTableIsNotLoaded) {
  ASSERT_NO_FATAL_FAILURE(Open());
  Table table = *CompileTable(literals_);
  table.words[5] = 0xffffffff;
  EXPECT_EQ(session_->LoadTable(table).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(SessionTest, LoadingATableWaitsForWhatIsInFlightAndKeepsItsResults) {
  ASSERT_NO_FATAL_FAILURE(Open({.run_late = true}));
  const uint64_t allocations = device_->allocations();
  ASSERT_TRUE(Submit(text_).ok());
  ASSERT_TRUE(session_->Flush().ok());
  const auto other = session_->LoadTable(*CompileTable(std::vector<Literal>{{"and"}}));
  ASSERT_TRUE(other.ok()) << other.status();
  ExpectRight(text_, Next());
  table_ = *other;
  ASSERT_TRUE(Submit(text_).ok());
  const auto result = Next();
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->hits[0], (std::vector<LiteralHit>{{16, 19, 0}}));
  EXPECT_EQ(device_->allocations(), allocations);
}

TEST_F(SessionTest, CountsWhatTheProgramRan) {
  ASSERT_NO_FATAL_FAILURE(Open());
  ASSERT_TRUE(Submit(text_).ok());
  ExpectRight(text_, Next());
  EXPECT_EQ(session_->stats().epochs, 1u);
  EXPECT_EQ(session_->stats().opcodes[KS_OP_SCAN], 1u);
  EXPECT_EQ(session_->stats().scanned_bytes, text_.size());
  EXPECT_TRUE(session_->TakeDebugLog().empty());
}

TEST_F(SessionTest, OpeningFailsCleanlyWhereverMemoryRunsOut) {
  for (uint64_t nth = 1;; ++nth) {
    FakeDevice device({.script = {.refuse_allocations = {nth}}});
    {
      auto session = Session::Open(device, {.geometry = kGeometry});
      if (session.ok()) {
        EXPECT_GT(nth, 10u);
        EXPECT_EQ((*session)->resident_bytes(), device.live_bytes());
        break;
      }
      EXPECT_EQ(session.status().code(), absl::StatusCode::kResourceExhausted);
    }
    EXPECT_EQ(device.live_buffers(), 0u);
  }
}

TEST_F(SessionTest, ShutdownDrainsFreesAndMayBeCalledTwice) {
  ASSERT_NO_FATAL_FAILURE(Open());
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(Submit(text_).ok());
  ASSERT_TRUE(session_->Flush().ok());
  EXPECT_TRUE(session_->Shutdown(device_->now() + 1s).ok());
  EXPECT_TRUE(session_->Shutdown(device_->now() + 1s).ok());
  EXPECT_EQ(device_->live_buffers(), 0u);
  EXPECT_EQ(device_->in_flight(), 0u);
  EXPECT_EQ(Submit(text_).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(recorder_.residual, 0u);
}

// Keeps the memory of every buffer, to look into it.
class SpyDevice final : public test::ForwardingDevice {
 public:
  using ForwardingDevice::ForwardingDevice;
  absl::StatusOr<std::unique_ptr<backends::Buffer>> Allocate(backends::MemoryKind kind,
                                                             uint64_t bytes) override {
    auto buffer = ForwardingDevice::Allocate(kind, bytes);
    if (buffer.ok()) {
      memory_.emplace_back(static_cast<backends::HostBuffer&>(**buffer).memory(), bytes);
    }
    return buffer;
  }
  size_t CountOf(const std::string& needle) const {
    size_t count = 0;
    for (const auto& [memory, bytes] : memory_) {
      const auto* begin = reinterpret_cast<const char*>(memory->data());
      for (auto it = begin;; ++it, ++count) {
        it = std::search(it, begin + bytes, needle.begin(), needle.end());
        if (it == begin + bytes) break;
      }
    }
    return count;
  }

 private:
  std::vector<std::pair<std::shared_ptr<backends::HostMemory>, uint64_t>> memory_;
};

TEST(SessionPrivacy, NoTextOutlivesItsPlace) {
  FakeDevice device;
  SpyDevice spy(device);
  Geometry geometry{
      .slots = 32, .workgroup = 8, .tenants = 4, .batches = 1, .batch_bytes = 64 << 10};
  auto session = *Session::Open(spy, {.geometry = geometry});
  const TableHandle table = *session->LoadTable(*CompileTable(std::vector<Literal>{{"q"}}));
  const std::string secret = "hunter" + std::string("2");
  const auto scan = [&](const std::string& text) {
    Piece piece;
    piece.text = Bytes(text);
    piece.owned_end = static_cast<uint32_t>(text.size());
    ASSERT_TRUE(session->Submit({.table = table, .pieces = std::span(&piece, 1)}).ok());
    ASSERT_TRUE(session->Next(device.now() + 1h).ok());
  };
  scan(std::string(3001, '.') + secret + std::string(60, '.'));
  EXPECT_EQ(spy.CountOf(secret), 2u);  // pinned and device text
  scan(std::string(101, '.'));         // a shorter batch in the same place
  EXPECT_EQ(spy.CountOf(secret), 0u);
  scan(secret);
  EXPECT_EQ(spy.CountOf(secret), 2u);
  ASSERT_TRUE(session->Shutdown(device.now() + 1s).ok());
  EXPECT_EQ(spy.CountOf(secret), 0u);
}

}  // namespace
}  // namespace keysieve::megakernel
