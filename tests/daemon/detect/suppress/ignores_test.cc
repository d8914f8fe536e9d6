// SPDX-License-Identifier: MIT
// What ignore files and baselines know, and what they do not: a secret that moved is known, another
// one in its place is new.
#include "daemon/detect/suppress/ignores.h"

#include <nlohmann/json.hpp>

#include "daemon/detect/suppress/allow_mark.h"
#include "gmock/gmock.h"
#include "tests/daemon/detect/detect_testing.h"

namespace keysieve::detect::suppress {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Json = nlohmann::json;

class IgnoresTest : public testing::Test {
 protected:
  void SetUp() override { rules_ = Load(kPatRule, Options()); }

  static RuleOptions Options() {
    RuleOptions options;
    options.fingerprint.keys = {{"new", "a key of sixteen bytes"}, {"old", "another such key!!!"}};
    return options;
  }

  // What became of each finding of the text under these sources.
  std::vector<std::string> Marks(const std::vector<Source>& sources, std::string_view text,
                                 std::string_view path = "src/a.txt",
                                 std::string_view commit = "") {
    warnings_.clear();
    auto ignores = Ignores::Read(sources, rules_->fingerprinter(), &warnings_);
    EXPECT_TRUE(ignores.ok()) << Message(ignores.status());
    if (!ignores.ok()) return {"unread"};
    std::vector<Finding> findings = ScanText(*rules_, text, path, commit);
    (*ignores)->Mark(path, commit, *rules_, findings);
    std::vector<std::string> marks;
    for (const Finding& finding : findings) marks.push_back(finding.suppressed_by);
    return marks;
  }

  std::string Error(const Source& source) {
    const auto read = Ignores::Read(std::span(&source, 1), rules_->fingerprinter(), &warnings_);
    return read.ok() ? "" : Message(read.status());
  }

  // One entry of gitleaks' report about a token, as it writes it.
  static Json Entry(const std::string& secret, const std::string& file, int line, int column) {
    return Json{{"RuleID", "github-pat"}, {"StartLine", line},    {"EndLine", line},
                {"StartColumn", column},  {"EndColumn", 1},       {"Match", secret},
                {"Secret", secret},       {"File", file},         {"Commit", ""},
                {"Entropy", 4.5},         {"Tags", Json::array()}};
  }

  std::shared_ptr<const RuleSet> rules_;
  std::vector<std::string> warnings_;
};

Source IgnoreFile(std::string text) {
  return {".gitleaksignore", Format::kGitleaksIgnore, std::move(text)};
}

TEST_F(IgnoresTest, ALineNamesAPlace) {
  const std::string text = "one\nkey " + Pat(1) + "\n";
  EXPECT_THAT(Marks({IgnoreFile("# ours\n\n  src/a.txt:github-pat:2 \r\n")}, text),
              ElementsAre(".gitleaksignore:3"));
  EXPECT_THAT(Marks({IgnoreFile("./src\\a.txt:github-pat:2")}, text),
              ElementsAre(".gitleaksignore:1"));
  EXPECT_THAT(Marks({IgnoreFile("src/a.txt:github-pat:2")}, text, "./src/a.txt"),
              ElementsAre(".gitleaksignore:1"));
  for (const char* other :
       {"src/a.txt:github-pat:3", "src/b.txt:github-pat:2", "src/a.txt:pat:2"}) {
    EXPECT_THAT(Marks({IgnoreFile(other)}, text), ElementsAre("")) << other;
    EXPECT_THAT(warnings_, IsEmpty());
  }
}

TEST_F(IgnoresTest, ALineWithACommitHoldsForThatCommit) {
  const std::string line = "DEADBEEF01:c:/x:y.txt:github-pat:1";
  EXPECT_THAT(Marks({IgnoreFile(line)}, Pat(1), "c:/x:y.txt", "deadbeef01"),
              ElementsAre(".gitleaksignore:1"));
  EXPECT_THAT(Marks({IgnoreFile(line)}, Pat(1), "c:/x:y.txt", "deadbeef02"), ElementsAre(""));
  EXPECT_THAT(Marks({IgnoreFile("c:/x:y.txt:github-pat:1")}, Pat(1), "c:/x:y.txt", "deadbeef01"),
              ElementsAre(".gitleaksignore:1"))
      << "a line without a commit holds for all";
}

TEST_F(IgnoresTest, AFingerprintFollowsItsSecret) {
  const std::string name = ScanText(*rules_, Pat(1))[0].fingerprint;
  EXPECT_THAT(Marks({IgnoreFile(name)}, "\n\nmoved:\n   " + Pat(1), "elsewhere"),
              ElementsAre(".gitleaksignore:1"));
  EXPECT_THAT(Marks({IgnoreFile(name)}, Pat(2)), ElementsAre("")) << "swapped";
}

TEST_F(IgnoresTest, PreviousKeysStillCountAndUnknownOnesAreNamed) {
  RuleOptions before;
  before.fingerprint.keys = {{"old", "another such key!!!"}};
  const std::string old = ScanText(*Load(kPatRule, before), Pat(1))[0].fingerprint;
  EXPECT_THAT(Marks({IgnoreFile(old)}, Pat(1)), ElementsAre(".gitleaksignore:1"));
  EXPECT_THAT(warnings_, IsEmpty());
  before.fingerprint.keys = {{"gone", "another such key!!!"}};
  const std::string gone = ScanText(*Load(kPatRule, before), Pat(1))[0].fingerprint;
  EXPECT_THAT(Marks({IgnoreFile(gone)}, Pat(1)), ElementsAre(""));
  EXPECT_THAT(warnings_, ElementsAre(HasSubstr("\"gone\"")));
}

TEST_F(IgnoresTest, LinesThatNameNothingAreWarnings) {
  Marks({IgnoreFile("fine.txt:r:1\nno colon\na:b\n:r:1\nx::1\np:r:one\n")}, "");
  EXPECT_EQ(warnings_.size(), 5u);
  EXPECT_THAT(warnings_[0], HasSubstr(".gitleaksignore:2:"));
}

TEST_F(IgnoresTest, AGitleaksReportKnowsSecretsWhereverTheyAre) {
  const Json report = {Entry(Pat(1), "old/place.txt", 7, 1)};
  const Source source{"report.json", Format::kGitleaksBaseline, report.dump()};
  EXPECT_THAT(Marks({source}, "new place " + Pat(1) + " and " + Pat(2)),
              ElementsAre("report.json", ""));
}

TEST_F(IgnoresTest, ARedactedReportKnowsPlacesAndHowRandomASecretIs) {
  const std::string text = "first\n  " + Pat(1) + "\n";
  Json entry = Entry("REDACTED", "src/a.txt", 2, 4);  // one column too many, as gitleaks counts
  entry["Entropy"] = static_cast<float>(ScanText(*rules_, text)[0].entropy);
  const auto source = [&] {
    return Source{"r.json", Format::kGitleaksBaseline, Json::array({entry}).dump()};
  };
  EXPECT_THAT(Marks({source()}, text), ElementsAre("r.json"));
  EXPECT_THAT(Marks({source()}, "first\n  " + Pat(2) + "\n"), ElementsAre("")) << "swapped";
  EXPECT_THAT(Marks({source()}, text, "src/b.txt"), ElementsAre(""));
  EXPECT_THAT(Marks({source()}, "\n" + text), ElementsAre(""));
  entry["KeysieveFingerprint"] = ScanText(*rules_, text)[0].fingerprint;
  EXPECT_THAT(Marks({source()}, "\n\n" + text), ElementsAre("r.json")) << "ours goes by the secret";
}

TEST_F(IgnoresTest, OurOwnReportsAreBaselines) {
  const std::string name = ScanText(*rules_, Pat(1))[0].fingerprint;
  const std::string lines =
      Json{{"type", "finding"}, {"rule_id", "github-pat"}, {"keysieve_fingerprint", name}}.dump() +
      "\n\n" + Json{{"type", "summary"}, {"rule_id", "x"}, {"nested", {{"type", "y"}}}}.dump();
  const Source source{"known.jsonl", Format::kKeysieveBaseline, lines};
  EXPECT_THAT(Marks({source}, "\n" + Pat(1) + Pat(2)), ElementsAre("known.jsonl", ""));
  EXPECT_THAT(Marks({{"none", Format::kKeysieveBaseline, ""}}, Pat(1)), ElementsAre(""));
}

TEST_F(IgnoresTest, RulesOnPathsAreKnownByTheirPath) {
  rules_ = Load("[[rules]]\nid = 'p'\npath = 'a'\n", Options());
  Json entry = {{"RuleID", "p"}, {"Secret", ""}, {"File", "src/a.txt"}};
  const Source source{"r.json", Format::kGitleaksBaseline, Json::array({entry}).dump()};
  EXPECT_THAT(Marks({source}, ""), ElementsAre("r.json"));
  EXPECT_THAT(Marks({source}, "", "src/other/a.txt"), ElementsAre(""));
}

TEST_F(IgnoresTest, WhatIsNoBaselineIsAnErrorThatQuotesNothing) {
  const std::string secret = Pat(1);
  const auto array = [](std::string text) {
    return Source{"b.json", Format::kGitleaksBaseline, std::move(text)};
  };
  EXPECT_THAT(Error(array("{\"RuleID\": \"" + secret + "\"}")), HasSubstr("no list of findings"));
  EXPECT_THAT(Error(array("[1]")), HasSubstr("b.json: has an entry that is no object"));
  EXPECT_THAT(Error(array("[[1]]")), HasSubstr("no object"));
  EXPECT_THAT(Error(array("[{\"Secret\": \"" + secret)), HasSubstr("no JSON at byte"));
  EXPECT_THAT(Error(array("")), HasSubstr("no JSON"));
  const Source lines{"b.jsonl", Format::kKeysieveBaseline, "{}\n[" + secret + "\n"};
  EXPECT_THAT(Error(lines), HasSubstr("b.jsonl: line 2"));
  EXPECT_THAT(Error(lines), Not(HasSubstr(secret.substr(0, 8))));
  EXPECT_THAT(Error(array("[{\"Secret\": \"" + secret)), Not(HasSubstr(secret.substr(0, 8))));
  EXPECT_EQ(Error(array("[{\"a\": [[[{}]]], \"b\": {\"RuleID\": 3}, \"StartLine\": -1}]")), "");
}

TEST_F(IgnoresTest, SizesAndNumbersAreBounded) {
  EXPECT_THAT(Error({"big", Format::kGitleaksIgnore, std::string(kMaxIgnoreBytes + 1, '#')}),
              HasSubstr("is the limit"));
  const std::vector<Source> many(kMaxIgnoreSources + 1);
  EXPECT_FALSE(Ignores::Read(many, rules_->fingerprinter(), &warnings_).ok());
  const std::string deep = "[{\"a\":" + std::string(100000, '[') + std::string(100000, ']') + "}]";
  EXPECT_EQ(Error({"deep", Format::kGitleaksBaseline, deep}), "");
}

TEST(AllowMark, IsEitherNameAsWritten) {
  EXPECT_EQ(AllowMarkOn("x # gitleaks:allow"), "gitleaks:allow");
  EXPECT_EQ(AllowMarkOn("x // keysieve:allow and more"), "keysieve:allow");
  EXPECT_EQ(AllowMarkOn("other:allow gitleaks:allow"), "gitleaks:allow");
  for (const char* no : {"", "gitleaks: allow", "GITLEAKS:ALLOW", "leaks:allow", "gitleaks:allo"}) {
    EXPECT_EQ(AllowMarkOn(no), "") << no;
  }
}

}  // namespace
}  // namespace keysieve::detect::suppress
