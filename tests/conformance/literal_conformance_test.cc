// SPDX-License-Identifier: MIT
// One suite for every backend and route: literal hits of a session against Vectorscan and a naive
// matcher, in several geometries; the route that Vectorscan feeds against the naive matcher alone.
// A backend without an adapter here is a printed skip. Needs no files, so the program can be
// carried to another machine.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "backends/registry.h"
#include "megakernel/abi.inl"
#include "tests/conformance/random_sets.h"
#include "tests/conformance/session_harness.h"
#include "tests/conformance/source_text.h"
#include "tests/conformance/vectorscan_oracle.h"
#include "tests/megakernel/naive_matcher.h"

namespace keysieve::test {
namespace {

using backends::BackendKind;
using megakernel::Geometry;
using megakernel::Literal;
using megakernel::LiteralHit;
using megakernel::MatchRoute;
using megakernel::Piece;
using megakernel::SessionPolicy;
using megakernel::TableHandle;

struct Shape {
  const char* name;
  Geometry geometry;
};

const Shape kShapes[] = {
    {"tight", {.slots = 8, .workgroup = 8, .tenants = 2, .batches = 2, .batch_bytes = 64 << 10}},
    {"odd", {.slots = 96, .workgroup = 32, .tenants = 5, .batches = 3, .batch_bytes = 300007}},
    {"usual", {.slots = 256, .workgroup = 256, .batches = 4, .batch_bytes = 1 << 20}},
};

const Way kWays[] = {
    {"cpu_vectorscan", BackendKind::kCpu},
    {"cpu_shared", BackendKind::kCpu, MatchRoute::kShared},
    {"vulkan", BackendKind::kVulkan},
    {"vulkan_no_subgroups", BackendKind::kVulkan, MatchRoute::kPortable},
    {"vulkan_shared", BackendKind::kVulkan, MatchRoute::kShared},
    {"cuda", BackendKind::kCuda},
    {"cuda_shared", BackendKind::kCuda, MatchRoute::kShared},
    {"cuda_resident", BackendKind::kCuda, MatchRoute::kTuned, SessionPolicy::kResident},
    // Leaves the device between almost any two batches.
    {"cuda_parking", BackendKind::kCuda, MatchRoute::kTuned, SessionPolicy::kResident,
     std::chrono::milliseconds(1)},
};

// Keeps one device of every accelerator open for the whole run. Some Vulkan drivers can be loaded
// into a process only some dozens of times; a device that stays open keeps its driver loaded.
class KeepsDriversLoaded : public testing::Environment {
 public:
  void SetUp() override {
    for (const BackendKind kind : backends::BuiltBackends()) {
      if (kind == BackendKind::kCpu) continue;
      for (const auto& adapter : backends::ProbeAdapters(kind).adapters) {
        auto device = backends::OpenDevice(adapter, {});
        if (device.ok()) devices_.push_back(*std::move(device));
      }
    }
  }
  void TearDown() override { devices_.clear(); }

 private:
  std::vector<std::unique_ptr<backends::Device>> devices_;
};
const testing::Environment* const kDrivers =
    testing::AddGlobalTestEnvironment(new KeepsDriversLoaded);

class LiteralConformance : public testing::TestWithParam<std::tuple<Way, Shape>> {
 protected:
  // Skips where the adapter is absent; false where the test cannot go on.
  void Open(bool poison = false, uint32_t hits_per_batch = 1 << 18) {
    Geometry geometry = std::get<1>(GetParam()).geometry;
    geometry.hits_per_batch = hits_per_batch;
    harness_ = std::make_unique<SessionHarness>(way(), geometry, poison);
    if (!harness_->absent().empty()) {
      GTEST_SKIP() << "no adapter: " << harness_->absent();
    }
    ASSERT_EQ(harness_->failure(), "");
  }
  const Way& way() const { return std::get<0>(GetParam()); }
  bool fed_by_vectorscan() const {
    return way().backend == BackendKind::kCpu && way().route == MatchRoute::kTuned;
  }
  void ExpectOracles(const std::vector<Literal>& literals, const std::string& text,
                     const std::vector<LiteralHit>& got, const std::string& what);
  void TearDown() override {
    if (harness_ == nullptr || !harness_->absent().empty() || HasFatalFailure()) return;
    const megakernel::SessionStats& stats = harness_->session().stats();
    // The route is the one that was asked for.
    const bool tuned = way().route != MatchRoute::kShared && stats.opcodes[KS_OP_SCAN] > 0;
    if (way().backend != BackendKind::kCuda) {
      EXPECT_EQ(stats.tuned_slots > 0, tuned);
    }
  }
  size_t batch_bytes() const { return std::get<1>(GetParam()).geometry.batch_bytes; }

  std::unique_ptr<SessionHarness> harness_;
};

#define KS_OPEN(...) \
  Open(__VA_ARGS__); \
  if (IsSkipped() || HasFatalFailure()) return

void LiteralConformance::ExpectOracles(const std::vector<Literal>& literals,
                                       const std::string& text, const std::vector<LiteralHit>& got,
                                       const std::string& what) {
  if (fed_by_vectorscan() || literals.size() * text.size() < 20'000'000) {
    EXPECT_EQ(Difference(got, NaiveMatches(literals, Bytes(text))), "same") << what;
  }
  if (fed_by_vectorscan()) return;
  // Vectorscan takes no literal that begins with NUL: those are the naive matcher's alone.
  std::vector<Literal> taken;
  std::vector<uint32_t> id_of;
  for (uint32_t i = 0; i < literals.size(); ++i) {
    if (literals[i].bytes[0] == '\0') continue;
    taken.push_back(literals[i]);
    id_of.push_back(i);
  }
  const VectorscanOracle oracle(taken);
  ASSERT_EQ(oracle.error(), "") << what;
  std::vector<LiteralHit> want = oracle.Matches(Bytes(text));
  for (LiteralHit& hit : want) hit.pattern = id_of[hit.pattern];
  std::vector<LiteralHit> got_taken;
  for (const LiteralHit& hit : got) {
    if (literals[hit.pattern].bytes[0] != '\0') got_taken.push_back(hit);
  }
  EXPECT_EQ(Difference(got_taken, want), "same") << what;
}

TEST_P(LiteralConformance, RandomSetsOnRandomTexts) {
  KS_OPEN();
  std::mt19937 random(2026);
  const std::string alphabets[] = {"ab", "abcABC01_-", "", "the quick brown fox\n"};
  for (int round = 0; round < 24; ++round) {
    const std::string& alphabet = alphabets[round % 4];
    const size_t longest = round % 5 == 0 ? 255 : 9;
    const auto literals = RandomLiterals(random, 1 + random() % 200, alphabet, longest);
    const std::string text = TextWith(random, random() % 50000, literals, alphabet);
    const TableHandle table = harness_->Load(literals);
    const std::vector<Piece> pieces = {WholePiece(text)};
    const PieceHits hits = harness_->Scan(table, pieces);
    ASSERT_EQ(hits.size(), 1u);
    ExpectOracles(literals, text, hits[0], "round " + std::to_string(round));
    ASSERT_TRUE(harness_->session().EvictTable(table).ok());
    if (HasFailure()) return;
  }
}

TEST_P(LiteralConformance, ThousandsOfLiteralsOnSourceText) {
  KS_OPEN();
  std::mt19937 random(7);
  std::vector<Literal> literals;
  for (int i = 0; i < 4000; ++i) {
    literals.push_back(
        {RandomBytes(random, 4 + random() % 12, "abcdefghijklmnopqrstuvwxyz_"), i % 2 == 0});
  }
  for (const char* word : {"token", "secret", "api_key", "client.", "ret", "const"}) {
    literals.push_back({word, true});
  }
  const std::string text = SourceText(batch_bytes(), 3);
  const std::vector<Piece> pieces = {WholePiece(text)};
  const PieceHits hits = harness_->Scan(harness_->Load(literals), pieces);
  ASSERT_EQ(hits.size(), 1u);
  EXPECT_GT(hits[0].size(), 1000u);
  ExpectOracles(literals, text, hits[0], "source text");
}

TEST_P(LiteralConformance, RepeatedText) {
  KS_OPEN();
  const std::vector<Literal> literals = {{"key", true}, {"eyk"},   {"keykey"}, {"k"},
                                         {"KEY"},       {"yke"},   {"ey"},     {"keykeykeykey"},
                                         {"key", true}, {"yyyyy"}, {"y"}};
  std::string text;
  while (text.size() < 40000) text += "key";
  text += std::string(5000, 'y');
  const std::vector<Piece> pieces = {WholePiece(text)};
  const PieceHits hits = harness_->Scan(harness_->Load(literals), pieces);
  ASSERT_EQ(hits.size(), 1u);
  ExpectOracles(literals, text, hits[0], "keykeykey");
}

// A match at every offset round the join of two units, of each length: found, and found once.
TEST_P(LiteralConformance, UnitJoinsLoseAndDoubleNothing) {
  KS_OPEN();
  const std::vector<Literal> literals = {
      {"Q"}, {"QX"}, {"QXZ"}, {"QXZJ"}, {"QXZJKW"}, {"qxzjkw" + std::string(60, 'v'), true}};
  const TableHandle table = harness_->Load(literals);
  const std::string longest = "QXZJKW" + std::string(60, 'V');
  for (size_t round = 0; round < 80; ++round) {
    std::string text(20000, '.');
    for (size_t join : {4096u, 8192u, 12288u}) text.replace(join - 70 + round, 66, longest);
    const std::vector<Piece> pieces = {WholePiece(text)};
    const PieceHits hits = harness_->Scan(table, pieces);
    ASSERT_EQ(hits.size(), 1u);
    ASSERT_EQ(Difference(hits[0], NaiveMatches(literals, Bytes(text))), "same") << round;
  }
}

// A text cut into pieces with a margin of the longest literal less one gives the whole text's hits.
TEST_P(LiteralConformance, PieceCutsLoseAndDoubleNothing) {
  KS_OPEN();
  std::mt19937 random(17);
  const auto literals = RandomLiterals(random, 60, "abc", 12);
  const TableHandle table = harness_->Load(literals);
  const std::string text = TextWith(random, 4000, literals, "abc");
  const auto want = NaiveMatches(literals, Bytes(text));
  for (size_t cut = 1; cut < 120; ++cut) {
    std::vector<Piece> pieces;
    std::vector<size_t> bases;
    for (size_t begin = 0; begin < text.size(); begin += cut * 7) {
      const size_t owned = std::min(cut * 7, text.size() - begin);
      const size_t before = std::min<size_t>(begin, cut % 5);
      Piece piece;
      piece.text = Bytes(text).subspan(begin - before);
      piece.text = piece.text.first(std::min(piece.text.size(), before + owned + 11));
      piece.owned_begin = static_cast<uint32_t>(before);
      piece.owned_end = static_cast<uint32_t>(before + owned);
      piece.begins_blob = begin - before == 0;
      piece.ends_blob = piece.text.data() + piece.text.size() == Bytes(text).data() + text.size();
      pieces.push_back(piece);
      bases.push_back(begin - before);
    }
    const PieceHits hits = harness_->Scan(table, pieces);
    ASSERT_EQ(hits.size(), pieces.size());
    std::vector<LiteralHit> joined;
    for (size_t i = 0; i < hits.size(); ++i) {
      for (LiteralHit hit : hits[i]) {
        joined.push_back({hit.start + bases[i], hit.end + bases[i], hit.pattern});
      }
    }
    ASSERT_EQ(Difference(joined, want), "same") << "cut " << cut;
  }
}

TEST_P(LiteralConformance, NothingMatchesAcrossPieces) {
  KS_OPEN();
  const std::vector<Literal> literals = {{"AKIA"}, {"KI"}, {"A"}, {"AKI"}, {std::string(2, '\0')}};
  const TableHandle table = harness_->Load(literals);
  std::vector<std::string> texts;
  for (int i = 0; i < 500; ++i) {
    texts.push_back("AK");
    texts.push_back("IA");
    texts.push_back("");
    texts.push_back(std::string(1, '\0'));
    texts.push_back("xAKIAx");
  }
  std::vector<Piece> pieces;
  for (size_t i = 0; i < texts.size(); ++i) {
    pieces.push_back(WholePiece(texts[i]));
    pieces.back().tenant = static_cast<uint32_t>(i / 7 % 2);
  }
  pieces.resize(std::min<size_t>(pieces.size(), harness_->session().max_pieces()));
  const PieceHits hits = harness_->Scan(table, pieces);
  ASSERT_EQ(hits.size(), pieces.size());
  for (size_t i = 0; i < pieces.size(); ++i) {
    ASSERT_EQ(Difference(hits[i], NaiveMatches(literals, Bytes(texts[i]))), "same")
        << i << " " << texts[i];
  }
}

TEST_P(LiteralConformance, EmptyAndOneByteTexts) {
  KS_OPEN();
  const std::vector<Literal> literals = {{"a", true}, {"ab"}, {"abcdefgh"}};
  const TableHandle table = harness_->Load(literals);
  EXPECT_TRUE(harness_->Scan(table, {}).empty());
  const std::string empty, one = "A";
  const std::vector<Piece> only_empty = {WholePiece(empty), WholePiece(empty)};
  EXPECT_EQ(harness_->Scan(table, only_empty), PieceHits(2));
  const std::vector<Piece> single = {WholePiece(one)};
  EXPECT_EQ(harness_->Scan(table, single), (PieceHits{{{0, 1, 0}}}));
  const std::vector<Piece> both = {WholePiece(empty), WholePiece(one), WholePiece(empty)};
  EXPECT_EQ(harness_->Scan(table, both), (PieceHits{{}, {{0, 1, 0}}, {}}));
}

TEST_P(LiteralConformance, PoisonedHitQueuesChangeNothing) {
  KS_OPEN(true);
  std::mt19937 random(23);
  const auto literals = RandomLiterals(random, 30, "abcd", 6);
  const TableHandle table = harness_->Load(literals);
  for (int round = 0; round < 5; ++round) {
    const std::string text = TextWith(random, 3000 + random() % 3000, literals, "abcd");
    const std::vector<Piece> pieces = {WholePiece(text)};
    const PieceHits hits = harness_->Scan(table, pieces);
    ASSERT_EQ(hits.size(), 1u);
    ASSERT_EQ(Difference(hits[0], NaiveMatches(literals, Bytes(text))), "same");
  }
}

TEST_P(LiteralConformance, OverflowIsReplayedOnceWithRoom) {
  KS_OPEN(false, 16);
  const std::vector<Literal> literals = {{"k"}, {"key", true}};
  std::string text;
  while (text.size() < 30000) text += "Key.key ";
  const std::vector<Piece> pieces = {WholePiece(text)};
  const TableHandle table = harness_->Load(literals);
  const auto first = harness_->ScanBatch(table, pieces);
  ASSERT_EQ(first.hits.size(), 1u);
  EXPECT_EQ(Difference(first.hits[0], NaiveMatches(literals, Bytes(text))), "same");
  EXPECT_EQ(first.replays, 1u);
}

// Past what the queue may grow to, the text is replayed in parts.
TEST_P(LiteralConformance, OverflowPastTheCapIsReplayedInParts) {
  KS_OPEN(false, 16);
  std::vector<Literal> literals(40, Literal{"aa"});
  literals.push_back({"a"});
  const std::string text(6000, 'a');
  const std::vector<Piece> pieces = {WholePiece(text)};
  const auto result = harness_->ScanBatch(harness_->Load(literals), pieces);
  ASSERT_EQ(result.hits.size(), 1u);
  EXPECT_EQ(result.hits[0].size(), 40u * 5999 + 6000);
  EXPECT_EQ(Difference(result.hits[0], NaiveMatches(literals, Bytes(text))), "same");
  EXPECT_GE(result.replays, 1u);
  EXPECT_GT(harness_->session().stats().epochs, 3u);
}

// Text so full of matches that a software device reaches its step limit: replayed in parts, never
// truncated.
TEST_P(LiteralConformance, HostileTextIsNeverCutShortInSilence) {
  KS_OPEN(false, 1 << 20);
  const std::vector<Literal> literals = {{"a"}, {"aa"}, {"aaa"}, {"aaaa", true}, {"A", true}};
  const std::string text(60000, 'a');
  const std::vector<Piece> pieces = {WholePiece(text)};
  const auto result = harness_->ScanBatch(harness_->Load(literals), pieces);
  ASSERT_EQ(result.hits.size(), 1u);
  EXPECT_EQ(Difference(result.hits[0], NaiveMatches(literals, Bytes(text))), "same");
  EXPECT_EQ(result.replays, 0u);
}

// The ring's cursor passes its end again and again while batches are in flight.
TEST_P(LiteralConformance, BatchesInFlightWrapTheRing) {
  KS_OPEN();
  std::mt19937 random(31);
  const auto literals = RandomLiterals(random, 50, "abcde_", 8);
  const TableHandle table = harness_->Load(literals);
  std::vector<std::string> texts;
  size_t submitted = 0, taken = 0;
  for (int i = 0; i < 40; ++i) {
    texts.push_back(
        TextWith(random, random() % std::min<size_t>(batch_bytes(), 40000), literals, "abcde_"));
  }
  while (taken < texts.size()) {
    if (submitted < texts.size()) {
      const std::vector<Piece> pieces = {WholePiece(texts[submitted])};
      const auto id = harness_->session().Submit({.table = table, .pieces = pieces});
      if (id.ok()) {
        EXPECT_EQ(*id, ++submitted);
        if (submitted % 3 == 0) {
          ASSERT_TRUE(harness_->session().Flush().ok());
        }
        continue;
      }
      ASSERT_EQ(id.status().code(), absl::StatusCode::kResourceExhausted) << id.status();
    }
    const auto result = harness_->Take();
    ASSERT_EQ(result.hits.size(), 1u);
    EXPECT_EQ(result.id, taken + 1);
    ASSERT_EQ(Difference(result.hits[0], NaiveMatches(literals, Bytes(texts[taken]))), "same")
        << taken;
    ++taken;
  }
}

TEST_P(LiteralConformance, SixteenTablesAlternateWithoutAllocating) {
  KS_OPEN();
  std::mt19937 random(41);
  std::vector<std::vector<Literal>> sets;
  std::vector<TableHandle> tables;
  for (int i = 0; i < 16; ++i) {
    sets.push_back(RandomLiterals(random, 1 + random() % 30, "abcd", 7));
    tables.push_back(harness_->Load(sets.back()));
  }
  const uint64_t resident = harness_->session().resident_bytes();
  const std::string text = TextWith(random, 6000, sets[3], "abcd");
  const std::vector<Piece> pieces = {WholePiece(text)};
  for (int round = 0; round < 48; ++round) {
    const size_t which = random() % sets.size();
    if (random() % 4 == 0) {  // a set is replaced
      ASSERT_TRUE(harness_->session().EvictTable(tables[which]).ok());
      sets[which] = RandomLiterals(random, 1 + random() % 30, "abcd", 7);
      tables[which] = harness_->Load(sets[which]);
    }
    const PieceHits hits = harness_->Scan(tables[which], pieces);
    ASSERT_EQ(hits.size(), 1u);
    ASSERT_EQ(Difference(hits[0], NaiveMatches(sets[which], Bytes(text))), "same") << round;
  }
  EXPECT_EQ(harness_->session().resident_bytes(), resident);
}

std::string ParamName(const testing::TestParamInfo<LiteralConformance::ParamType>& info) {
  return std::string(std::get<0>(info.param).name) + "_" + std::get<1>(info.param).name;
}

// Every way in every shape, but the ways that are not the usual one in one shape only: a
// software device takes a second a test.
std::vector<LiteralConformance::ParamType> Params() {
  std::vector<LiteralConformance::ParamType> params;
  for (const Way& way : kWays) {
    const bool usual = way.backend != BackendKind::kVulkan || way.route == MatchRoute::kTuned;
    for (const Shape& shape : kShapes) {
      if (usual || std::string(shape.name) == "odd") params.emplace_back(way, shape);
    }
  }
  return params;
}

INSTANTIATE_TEST_SUITE_P(Every, LiteralConformance, testing::ValuesIn(Params()), ParamName);

}  // namespace
}  // namespace keysieve::test
