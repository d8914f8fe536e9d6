// SPDX-License-Identifier: MIT
// The pipeline's answers: findings, receipts, hits and errors, whatever the cuts.
#include "daemon/scan_pipeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/daemon/pipeline/fake_transport.h"

namespace keysieve::pipeline {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::vector<Blob> SomeBlobs() {
  std::vector<Blob> blobs;
  for (uint64_t i = 0; i < 20; ++i) {
    std::string text(i * 777 % 5000, '.');
    text += "KEY=abcd\nKEY=" + std::string(i % 3 == 0 ? "wxyz" : "w");
    blobs.push_back({i, "dir/file" + std::to_string(i), std::move(text), i % 2 == 0});
  }
  blobs.push_back({100, "empty", ""});
  return blobs;
}

TEST(ScanPipeline, FindingsDoNotDependOnHowTheBytesWereCut) {
  for (const size_t chunk : {size_t{1}, size_t{7}, size_t{1000}, size_t{1} << 20}) {
    Bench b;
    const auto sink = std::make_shared<FakeSink>();
    const auto stream = b.Open(sink);
    stream->StartScan({.label = "repo"});
    Send(*stream, *sink, SomeBlobs(), chunk, chunk == 1 ? 50 : 3);
    ASSERT_TRUE(sink->summary().has_value()) << sink->failure()->message;
    EXPECT_EQ(sink->blobs().size(), 21u);
    uint64_t findings = 0;
    for (const BlobResult& result : sink->blobs()) {
      const bool two = result.blob_id % 3 == 0 && result.blob_id != 100;
      EXPECT_EQ(result.findings.size(), result.blob_id == 100 ? 0u : two ? 2u : 1u);
      EXPECT_EQ(result.receipt.blob_bytes, result.receipt.scanned_bytes);
      findings += result.findings.size();
    }
    EXPECT_EQ(sink->summary()->findings, findings);
    EXPECT_EQ(sink->summary()->blobs, 21u);
    EXPECT_TRUE(sink->summary()->complete);
    EXPECT_EQ(sink->summary()->bytes, sink->summary()->scanned_bytes);
    EXPECT_EQ(sink->summary()->route_bytes.at("cpu"), sink->summary()->bytes);
    EXPECT_EQ(b.pipeline->memory_in_use(), 0u);
    EXPECT_EQ(b.pipeline->streams(), 0u);
  }
}

TEST(ScanPipeline, SecretsAreRedactedUnlessTheOwnerAsks) {
  for (const bool show : {false, true}) {
    Bench b;
    const auto sink = std::make_shared<FakeSink>();
    const auto stream = b.Open(sink, {.owner = true});
    stream->StartScan({.show_secrets = show});
    Send(*stream, *sink, {{1, "f", "KEY=s3cr"}}, 100);
    ASSERT_EQ(sink->blobs().size(), 1u);
    const detect::Finding finding = sink->blobs()[0].findings.at(0);
    EXPECT_EQ(finding.secret, show ? "s3cr" : "REDACTED");
    EXPECT_EQ(finding.match, show ? "KEY=s3cr" : "KEY=REDACTED");
  }
}

TEST(ScanPipeline, OthersMayNotSeeSecretsNorBringRulesWherePolicyTakesNone) {
  Bench b({.caller_rules = CallerRules::kNone});
  for (const bool secrets : {true, false}) {
    const auto sink = std::make_shared<FakeSink>();
    const auto stream = b.Open(sink, {.owner = false, .why_not = "you came over TCP"});
    ScanOptions options{.show_secrets = secrets};
    if (!secrets) options.rule_toml = "x";
    stream->StartScan(options);
    sink->AwaitEnd();
    EXPECT_EQ(sink->failure()->code, absl::StatusCode::kPermissionDenied);
    EXPECT_THAT(sink->failure()->message, HasSubstr("you came over TCP"));
  }
  EXPECT_EQ(b.counters.Read().rejects.at("permission"), 2u);
}

TEST(ScanPipeline, OthersMayAddRulesAndPolicyMayLetThemDoMore) {
  for (const auto policy : {CallerRules::kExtend, CallerRules::kAny}) {
    Bench b({.caller_rules = policy});
    for (const char* toml : {"good", "weakens"}) {
      const auto sink = std::make_shared<FakeSink>();
      const auto stream = b.Open(sink, {.owner = false});
      stream->StartScan({.rule_toml = toml});
      Send(*stream, *sink, {{1, "f", "KEY=s3cr"}}, 100);
      const bool refused = policy == CallerRules::kExtend && std::string(toml) == "weakens";
      EXPECT_EQ(sink->failure().has_value(), refused) << toml;
    }
    const auto sink = std::make_shared<FakeSink>();
    b.Open(sink, {.owner = true})->StartScan({.rule_toml = "weakens"});
    EXPECT_FALSE(sink->failure()) << "the owner may do all";
  }
}

TEST(ScanPipeline, IgnoredFindingsAreReportedAndDoNotCount) {
  Bench b;
  const auto sink = std::make_shared<FakeSink>();
  const auto stream = b.Open(sink);
  ScanOptions options;
  options.ignores = {{"mine", detect::suppress::Format::kGitleaksIgnore, "f:key:0\nnonsense\n"}};
  stream->StartScan(options);
  Send(*stream, *sink, {{1, "f", "KEY=s3cr"}, {2, "g", "KEY=s3cr"}}, 100);
  EXPECT_THAT(sink->accepted().warnings, testing::ElementsAre(HasSubstr("mine:2")));
  ASSERT_EQ(sink->blobs().size(), 2u);
  for (const BlobResult& blob : sink->blobs()) {
    ASSERT_EQ(blob.findings.size(), 1u);
    EXPECT_EQ(blob.findings[0].suppressed_by, blob.path == "f" ? "mine:1" : "");
    EXPECT_EQ(blob.findings[0].secret, "REDACTED");
  }
  EXPECT_EQ(sink->summary()->findings, 1u);
  EXPECT_EQ(sink->summary()->suppressed, 1u);
  EXPECT_EQ(b.counters.Read().findings.at("key"), 1u);
}

TEST(ScanPipeline, IgnoresThatCannotBeReadOrAreForbiddenEndTheStream) {
  for (const bool taken : {true, false}) {
    Bench b({.take_ignores = taken});
    const auto sink = std::make_shared<FakeSink>();
    ScanOptions options;
    options.ignores = {{"b.json", detect::suppress::Format::kGitleaksBaseline, "no json"}};
    b.Open(sink)->StartScan(options);
    sink->AwaitEnd();
    EXPECT_EQ(sink->failure()->reason, taken ? "BAD_IGNORES" : "IGNORES_FORBIDDEN");
    EXPECT_EQ(sink->failure()->field, "options.ignores");
    EXPECT_THAT(sink->failure()->message, HasSubstr(taken ? "b.json" : "policy.ignores"));
  }
}

TEST(ScanPipeline, WhatCannotBeDecodedIsAGap) {
  Bench b;
  const auto sink = std::make_shared<FakeSink>();
  const auto stream = b.Open(sink);
  stream->StartScan({});
  Send(*stream, *sink, {{1, "f", "broken KEY=s3cr"}}, 100);
  const BlobResult blob = sink->blobs().at(0);
  EXPECT_EQ(blob.findings.size(), 1u);
  ASSERT_EQ(blob.receipt.gaps.size(), 1u);
  EXPECT_EQ(blob.receipt.gaps[0].reason, Reason::kUndecodable);
  EXPECT_EQ(blob.receipt.gaps[0].start, 2u);
  EXPECT_EQ(blob.receipt.scanned_bytes, 15u);
  EXPECT_FALSE(sink->summary()->complete);
  EXPECT_EQ(sink->summary()->route_bytes.size(), 1u);
}

TEST(ScanPipeline, TheOwnerMayBringRules) {
  Bench b;
  for (const char* toml : {"good", "good", "bad"}) {
    const auto sink = std::make_shared<FakeSink>();
    const auto stream = b.Open(sink, {.owner = true});
    stream->StartScan({.rule_toml = toml});
    Send(*stream, *sink, {{1, "f", "KEY=s3cr"}}, 100);
    if (std::string(toml) == "bad") {
      EXPECT_EQ(sink->failure()->message, "request:1: no");
    } else {
      EXPECT_EQ(sink->blobs().at(0).findings.size(), 1u);
    }
  }
  EXPECT_EQ(b.counters.Read().findings.at("other"), 2u);
}

TEST(ScanPipeline, AnUnknownRuleSetIsNotFound) {
  Bench b;
  const auto sink = std::make_shared<FakeSink>();
  b.Open(sink)->StartScan({.rule_set = "mine"});
  sink->AwaitEnd();
  EXPECT_EQ(sink->failure()->code, absl::StatusCode::kNotFound);
  EXPECT_THAT(sink->failure()->message, HasSubstr("\"one\""));
}

TEST(ScanPipeline, AnAllowlistedPathIsAnExclusionAndItsBytesAreNotScanned) {
  Bench b;
  const auto sink = std::make_shared<FakeSink>();
  const auto stream = b.Open(sink);
  stream->StartScan({});
  Send(*stream, *sink, {{1, "vendor/x", "KEY=aaaaKEY=bbbb"}, {2, "src/x", "KEY=aaaa"}}, 3);
  ASSERT_EQ(sink->blobs().size(), 2u);
  const BlobResult out = sink->blobs()[sink->blobs()[0].blob_id == 1 ? 0 : 1];
  EXPECT_TRUE(out.findings.empty());
  EXPECT_EQ(out.receipt.blob_bytes, 16u);
  EXPECT_EQ(out.receipt.scanned_bytes, 0u);
  ASSERT_EQ(out.receipt.exclusions.size(), 1u);
  EXPECT_EQ(out.receipt.exclusions[0].reason, Reason::kAllowlistedPath);
  EXPECT_EQ(out.receipt.exclusions[0].end, 16u);
  EXPECT_TRUE(sink->summary()->complete);
  EXPECT_EQ(sink->summary()->exclusions, 1u);
  EXPECT_EQ(b.counters.Read().exclusions.at("allowlisted_path"), 1u);
}

TEST(ScanPipeline, ABlobOverTheLimitIsAGapAndTheRestGoesOn) {
  for (const bool declare : {true, false}) {
    Bench b({.blob_limit = 1000, .memory_limit = 8000});
    const auto sink = std::make_shared<FakeSink>();
    const auto stream = b.Open(sink);
    stream->StartScan({});
    Send(*stream, *sink,
         {{1, "a", "KEY=aaaa"},
          {2, "big", std::string(1001, 'x'), declare},
          {3, "c", "KEY=cccc"},
          {4, "just", std::string(1000, 'x'), declare}},
         300);
    ASSERT_TRUE(sink->summary().has_value());
    EXPECT_FALSE(sink->summary()->complete);
    EXPECT_EQ(sink->summary()->gaps, 1u);
    EXPECT_EQ(sink->summary()->findings, 2u);
    for (const BlobResult& result : sink->blobs()) {
      ASSERT_EQ(result.receipt.gaps.size(), result.blob_id == 2 ? 1u : 0u);
      if (result.blob_id != 2) continue;
      EXPECT_EQ(result.receipt.gaps[0].reason, Reason::kBlobLimit);
      EXPECT_EQ(result.receipt.gaps[0].end, 1001u);
      EXPECT_EQ(result.receipt.scanned_bytes, 0u);
    }
  }
}

TEST(ScanPipeline, MatchGivesEveryHitInOrder) {
  Bench b;
  const std::vector<megakernel::Literal> patterns = {{"aa", false}, {"A", true}};
  const auto sink = std::make_shared<FakeSink>();
  const auto stream = b.Open(sink);
  stream->StartMatch({.patterns = patterns});
  const std::string text(100'000, 'a');
  Send(*stream, *sink, {{1, "f", text}, {2, "g", "xaAx"}}, 999);
  ASSERT_TRUE(sink->summary().has_value());
  const auto bytes = scheduler::AsBytes(text);
  EXPECT_EQ(sink->hits()[1], scheduler::NaiveHits(bytes, patterns));
  EXPECT_EQ(sink->hits()[2].size(), 2u);
  EXPECT_EQ(sink->receipts()[1].scanned_bytes, 100'000u);
  EXPECT_EQ(sink->accepted().rule_count, 2u);
}

TEST(ScanPipeline, MatchWithARuleSetReturnsItsLiterals) {
  Bench b;
  const auto sink = std::make_shared<FakeSink>();
  const auto stream = b.Open(sink);
  stream->StartMatch({.rule_set = "default"});
  Send(*stream, *sink, {{1, "vendor/f", "xKEY=x"}}, 100);
  ASSERT_EQ(sink->literals().size(), 1u);
  EXPECT_EQ(sink->literals()[0].bytes, "KEY=");
  EXPECT_EQ(sink->hits()[1].size(), 1u);
}

TEST(ScanPipeline, ABadPatternListSaysSo) {
  Bench b;
  const auto sink = std::make_shared<FakeSink>();
  b.Open(sink)->StartMatch({.patterns = {{"", false}}});
  sink->AwaitEnd();
  EXPECT_EQ(sink->failure()->code, absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(sink->failure()->message, "pattern 0 is empty");
}

TEST(ScanPipeline, TooManyHitsIsAnErrorNotATruncatedAnswer) {
  Bench b({.blob_limit = 1 << 20, .memory_limit = 8 << 20, .max_hits = 100});
  const auto sink = std::make_shared<FakeSink>();
  const auto stream = b.Open(sink);
  stream->StartMatch({.patterns = {{"a", false}}});
  Send(*stream, *sink, {{1, "f", std::string(101, 'a')}}, 1000);
  ASSERT_TRUE(sink->failure().has_value());
  EXPECT_EQ(sink->failure()->reason, "TOO_MANY_HITS");
  EXPECT_FALSE(sink->failure()->retry_after.has_value());
}

TEST(ScanPipeline, ALineIsLoggedForEachScanWithoutAnyBytesOfIt) {
  Bench b;
  const auto sink = std::make_shared<FakeSink>();
  const auto stream = b.Open(sink, {.peer = "unix:"});
  stream->StartScan({.label = "my/repo"});
  Send(*stream, *sink, {{1, "f", "KEY=s3cr"}}, 100);
  MutexLock lock(b.log_mutex);
  ASSERT_EQ(b.lines.size(), 1u);
  EXPECT_THAT(b.lines[0], HasSubstr(R"("label":"my/repo")"));
  EXPECT_THAT(b.lines[0], HasSubstr(R"("findings":1)"));
  EXPECT_THAT(b.lines[0], HasSubstr(R"("result":"complete")"));
  EXPECT_THAT(b.lines[0], Not(HasSubstr("s3cr")));
}

struct BadStream {
  const char* name;
  std::vector<Chunk> chunks;
  const char* message;
};

class BadStreams : public ::testing::TestWithParam<BadStream> {};

TEST_P(BadStreams, AreNamedAndWholeBlobsBeforeThemAreAnswered) {
  Bench b;
  const auto sink = std::make_shared<FakeSink>();
  const auto stream = b.Open(sink);
  stream->StartScan({});
  ASSERT_TRUE(sink->AwaitDemand());
  std::vector<Chunk> message = Cut({77, "ok", "KEY=aaaa"}, 100);
  message.insert(message.end(), GetParam().chunks.begin(), GetParam().chunks.end());
  stream->Message(std::move(message));
  if (sink->AwaitDemand()) stream->HalfClose();
  sink->AwaitEnd();
  ASSERT_TRUE(sink->failure().has_value());
  EXPECT_EQ(sink->failure()->code, absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(sink->failure()->message, HasSubstr(GetParam().message));
  EXPECT_EQ(sink->endings(), 1);
  ASSERT_EQ(sink->blobs().size(), 1u);
  EXPECT_EQ(sink->blobs()[0].findings.size(), 1u);
  EXPECT_EQ(b.pipeline->memory_in_use(), 0u);
}

INSTANTIATE_TEST_SUITE_P(
    Table, BadStreams,
    ::testing::Values(
        BadStream{"OffsetNotZero",
                  {{.blob_id = 1, .path = "a", .offset = 5}},
                  "blob 1: its first chunk has offset 5 instead of 0"},
        BadStream{"Skips",
                  {{.blob_id = 1, .path = "a", .data = "xx"}, {.blob_id = 1, .offset = 3}},
                  "blob 1: a chunk has offset 3 after 2 bytes"},
        BadStream{"Repeats",
                  {{.blob_id = 1, .path = "a", .data = "xx"}, {.blob_id = 1, .offset = 0}},
                  "a chunk has offset 0 after 2 bytes"},
        BadStream{"TwoAtOnce",
                  {{.blob_id = 1, .path = "a", .data = "xx"}, {.blob_id = 2, .path = "b"}},
                  "blob 2: it begins before blob 1 has had its last chunk"},
        BadStream{"SameIdTwice",
                  {{.blob_id = 77, .path = "a", .last = true}},
                  "blob 77: this id was used before"},
        BadStream{"MoreThanDeclared",
                  {{.blob_id = 1, .path = "a", .declared_size = 1, .last = true, .data = "xx"}},
                  "2 bytes came of a blob declared with 1"},
        BadStream{"LessThanDeclared",
                  {{.blob_id = 1, .path = "a", .declared_size = 3, .last = true, .data = "xx"}},
                  "it ended after 2 of 3 declared bytes"},
        BadStream{"NeverFinished",
                  {{.blob_id = 1, .path = "a", .declared_size = 3, .data = "xx"}},
                  "the stream ended after 2 of 3 bytes, before its last chunk"},
        BadStream{"PathTwice",
                  {{.blob_id = 1, .path = "a", .data = "x"},
                   {.blob_id = 1, .path = "a", .offset = 1, .last = true}},
                  "path and declared_size belong to its first chunk only"},
        BadStream{"LongPath",
                  {{.blob_id = 1, .path = std::string(4097, 'p'), .last = true}},
                  "a path of 4097 bytes exceeds the limit of 4096"},
        BadStream{
            "HugeChunk",
            {{.blob_id = 1, .path = "p", .last = true, .data = std::string((1 << 20) + 1, 'x')}},
            "a chunk of 1048577 bytes exceeds the limit of 1048576"}),
    [](const auto& info) { return info.param.name; });

TEST(ScanPipeline, ChunksBeforeOptionsAreRefused) {
  Bench b;
  const auto sink = std::make_shared<FakeSink>();
  const auto stream = b.Open(sink);
  stream->Message(Cut({1, "f", "x"}, 10));
  sink->AwaitEnd();
  EXPECT_EQ(sink->failure()->reason, "OPTIONS_FIRST");
}

TEST(ScanPipeline, RegionReferencesAreRefusedForNow) {
  Bench b;
  const auto sink = std::make_shared<FakeSink>();
  const auto stream = b.Open(sink);
  stream->StartScan({});
  ASSERT_TRUE(sink->AwaitDemand());
  stream->Message({{.blob_id = 1, .path = "p", .by_reference = true}});
  sink->AwaitEnd();
  EXPECT_EQ(sink->failure()->code, absl::StatusCode::kUnimplemented);
}

TEST(ScanPipeline, AProfileIsOfThatScanAloneAndGivesItsPlaceBack) {
  evidence::Recorder recorder({.contexts = 1});
  Bench b({.blob_limit = 1 << 20, .memory_limit = 8 << 20, .recorder = &recorder});
  for (int i = 0; i < 3; ++i) {  // one place: each must give it back
    const auto sink = std::make_shared<FakeSink>();
    const auto stream = b.Open(sink);
    stream->StartScan({.profile = true});
    Send(*stream, *sink, SomeBlobs(), 1000);
    ASSERT_TRUE(sink->summary()->profile.has_value());
    EXPECT_EQ(sink->summary()->profile->unavailable, "");
    // The CPU route is no accelerator.
    EXPECT_EQ(sink->summary()->profile->record.counters.cells, evidence::CounterValues{}.cells);
  }
  const auto cancelled = b.Open(std::make_shared<FakeSink>());
  cancelled->StartScan({.profile = true});
  cancelled->Cancel();
  EXPECT_TRUE(recorder.OpenContext().ok()) << "a cancelled scan gives its place back too";
}

TEST(ScanPipeline, WithoutRoomForAProfileTheScanGoesOnAndSaysSo) {
  evidence::Recorder recorder({.contexts = 1});
  const auto taken = recorder.OpenContext();
  ASSERT_TRUE(taken.ok());
  Bench b({.blob_limit = 1 << 20, .memory_limit = 8 << 20, .recorder = &recorder});
  const auto sink = std::make_shared<FakeSink>();
  const auto stream = b.Open(sink);
  stream->StartScan({.profile = true});
  Send(*stream, *sink, {{1, "f", "KEY=abcd"}}, 100);
  EXPECT_TRUE(sink->summary()->complete);
  EXPECT_THAT(sink->summary()->profile->unavailable, HasSubstr("all 1 profile contexts are open"));
  const auto plain = std::make_shared<FakeSink>();
  const auto other = b.Open(plain);
  other->StartScan({});
  Send(*other, *plain, {{1, "f", "KEY=abcd"}}, 100);
  EXPECT_FALSE(plain->summary()->profile.has_value());
}

TEST(ScanPipeline, OneLogLineAScanNamesItsTraceAndTenant) {
  Bench b;
  const auto sink = std::make_shared<FakeSink>();
  const auto stream = b.Open(sink, {.tenant = "team-a", .trace_id = std::string(32, 'a')});
  stream->StartScan({});
  Send(*stream, *sink, {{1, "f", "KEY=abcd"}}, 100);
  MutexLock lock(b.log_mutex);
  ASSERT_EQ(b.lines.size(), 1u);
  EXPECT_THAT(b.lines[0], HasSubstr("\"trace_id\":\"" + std::string(32, 'a') + "\""));
  EXPECT_THAT(b.lines[0], HasSubstr("\"tenant\":\"team-a\""));
  EXPECT_EQ(b.counters.Read().tenant_bytes.at("team-a"), 8u);
}

TEST(ScanPipeline, AFailedRouteEndsTheStreamInsteadOfReportingNothing) {
  Bench b;
  {
    MutexLock lock(b.script->mutex);
    b.script->fate = [](uint64_t) { return absl::InternalError("dispatch"); };
  }
  const auto sink = std::make_shared<FakeSink>();
  const auto stream = b.Open(sink);
  stream->StartScan({});
  Send(*stream, *sink, {{1, "f", "KEY=aaaa"}}, 100);
  ASSERT_TRUE(sink->failure().has_value());
  EXPECT_EQ(sink->failure()->code, absl::StatusCode::kUnavailable);
  EXPECT_TRUE(sink->failure()->retry_after.has_value());
}

}  // namespace
}  // namespace keysieve::pipeline
