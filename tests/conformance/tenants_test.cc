// SPDX-License-Identifier: MIT
// Tenants' rules and several sessions on one adapter, on every backend: a quota delays and never
// loses, what a tenant may not do is refused aloud, and two sessions know nothing of each other.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "backends/registry.h"
#include "evidence/base/status.h"
#include "megakernel/abi.inl"
#include "tests/conformance/session_harness.h"
#include "tests/conformance/source_text.h"
#include "tests/megakernel/naive_matcher.h"

namespace keysieve::test {
namespace {

using backends::BackendKind;
using megakernel::Literal;
using megakernel::Piece;
using megakernel::TableHandle;

class Tenants : public testing::TestWithParam<Way> {
 protected:
  std::unique_ptr<SessionHarness> Open(uint32_t tenants) {
    return std::make_unique<SessionHarness>(GetParam(),
                                            megakernel::Geometry{.slots = 128,
                                                                 .workgroup = 64,
                                                                 .tenants = tenants,
                                                                 .batches = 2,
                                                                 .batch_bytes = 256 << 10,
                                                                 .table_bytes = 1 << 20});
  }
  static Piece Of(const std::string& text, uint32_t tenant) {
    Piece piece = WholePiece(text);
    piece.tenant = tenant;
    return piece;
  }

  const std::vector<Literal> literals_ = {{"token", true}, {"secret"}, {"e"}, {"->"}, {"api_key"}};
};

#define KS_NEEDS(harness)                                                                \
  if (!(harness).absent().empty()) GTEST_SKIP() << "no adapter: " << (harness).absent(); \
  ASSERT_EQ((harness).failure(), "")

TEST_P(Tenants, AQuotaPutsSlotsOffAndLosesNothing) {
  const auto harness = Open(3);
  KS_NEEDS(*harness);
  megakernel::Session& session = harness->session();
  ASSERT_TRUE(session.SetTenant(1, {.epoch_bytes = 5000}).ok());
  const TableHandle table = harness->Load(literals_);
  const std::string texts[] = {SourceText(9000, 1), SourceText(60000, 2), SourceText(7000, 3)};
  const std::vector<Piece> pieces = {Of(texts[0], 0), Of(texts[1], 1), Of(texts[2], 2)};
  const PieceHits hits = harness->Scan(table, pieces);
  ASSERT_EQ(hits.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(Difference(hits[i], NaiveMatches(literals_, Bytes(texts[i]))), "same") << i;
    EXPECT_EQ(session.served_bytes()[i], texts[i].size());
  }
  EXPECT_GT(session.stats().requeued, 0u);
  EXPECT_GT(session.stats().epochs, 2u);
  EXPECT_EQ(session.slots_in_use(), 0u);

  const uint64_t requeued = session.stats().requeued;
  ASSERT_TRUE(session.SetTenant(1, {}).ok());
  EXPECT_EQ(harness->Scan(table, pieces), hits);
  EXPECT_EQ(session.stats().requeued, requeued);
}

TEST_P(Tenants, AForbiddenTenantIsRefusedAndTheOthersGoOn) {
  const auto harness = Open(4);
  KS_NEEDS(*harness);
  megakernel::Session& session = harness->session();
  EXPECT_EQ(session.SetTenant(4, {}).code(), absl::StatusCode::kInvalidArgument);
  const TableHandle table = harness->Load(literals_);
  const std::string text = SourceText(20000, 4);
  const auto want = NaiveMatches(literals_, Bytes(text));
  ASSERT_TRUE(session.SetTenant(2, {.opcodes = ~(1u << KS_OP_SCAN)}).ok());
  const std::vector<Piece> refused = {Of(text, 1), Of(text, 2)}, taken = {Of(text, 1), Of(text, 3)};
  ASSERT_TRUE(session.Submit({.table = table, .pieces = refused}).ok());
  ASSERT_TRUE(session.Submit({.table = table, .pieces = taken}).ok());
  const auto first = session.Next(backends::Clock::now() + std::chrono::minutes(2));
  EXPECT_EQ(first.status().code(), absl::StatusCode::kPermissionDenied) << first.status();
  EXPECT_FALSE(session.ended());
  EXPECT_EQ(harness->Take().hits, (PieceHits{want, want}));
  EXPECT_EQ(session.served_bytes()[2], 0u);
  ASSERT_TRUE(session.SetTenant(2, {}).ok());
  EXPECT_EQ(harness->Scan(table, refused), (PieceHits{want, want}));
  EXPECT_EQ(session.slots_in_use(), 0u);
}

TEST_P(Tenants, AsManyAsThereAreAreServedByTheByte) {
  for (const uint32_t tenants : {1u, 2u, 64u}) {
    const auto harness = Open(tenants);
    KS_NEEDS(*harness);
    const TableHandle table = harness->Load(literals_);
    std::vector<std::string> texts;
    for (uint32_t i = 0; i < tenants; ++i) texts.push_back(SourceText(500 + 37 * i, i));
    std::vector<Piece> pieces;
    for (uint32_t i = tenants; i-- > 0;) pieces.push_back(Of(texts[i], i));
    const PieceHits hits = harness->Scan(table, pieces);
    ASSERT_EQ(hits.size(), tenants);
    for (uint32_t i = 0; i < tenants; ++i) {
      EXPECT_EQ(hits[tenants - 1 - i], NaiveMatches(literals_, Bytes(texts[i]))) << i;
      EXPECT_EQ(harness->session().served_bytes()[i], texts[i].size()) << i;
    }
  }
}

TEST_P(Tenants, TwoSessionsOfOneAdapterKeepToThemselves) {
  const auto one = Open(2), two = Open(2);
  KS_NEEDS(*one);
  KS_NEEDS(*two);
  const std::vector<Literal> others = {{"return"}, {"config", true}};
  const TableHandle table_one = one->Load(literals_), table_two = two->Load(others);
  for (uint32_t round = 0; round < 5; ++round) {
    const std::string text = SourceText(30000 + round * 1000, 10 + round);
    const std::vector<Piece> pieces = {WholePiece(text)};
    ASSERT_TRUE(one->session().Submit({.table = table_one, .pieces = pieces}).ok());
    ASSERT_TRUE(two->session().Submit({.table = table_two, .pieces = pieces}).ok());
    ASSERT_TRUE(one->session().Flush().ok());
    ASSERT_TRUE(two->session().Flush().ok());
    EXPECT_EQ(two->Take().hits[0], NaiveMatches(others, Bytes(text)));
    EXPECT_EQ(one->Take().hits[0], NaiveMatches(literals_, Bytes(text)));
  }
  EXPECT_EQ(one->session().stats().epochs, 5u);
  EXPECT_TRUE(one->session().Shutdown(backends::Clock::now() + std::chrono::minutes(1)).ok());
  const std::string text = SourceText(1000, 1);
  const std::vector<Piece> pieces = {WholePiece(text)};
  EXPECT_EQ(two->Scan(table_two, pieces)[0], NaiveMatches(others, Bytes(text)));
}

const Way kWays[] = {
    {"cpu", BackendKind::kCpu},
    {"vulkan", BackendKind::kVulkan},
    {"cuda", BackendKind::kCuda},
    {"cuda_resident", BackendKind::kCuda, megakernel::MatchRoute::kTuned,
     megakernel::SessionPolicy::kResident},
};

INSTANTIATE_TEST_SUITE_P(Every, Tenants, testing::ValuesIn(kWays),
                         [](const testing::TestParamInfo<Way>& info) {
                           return std::string(info.param.name);
                         });

}  // namespace
}  // namespace keysieve::test
