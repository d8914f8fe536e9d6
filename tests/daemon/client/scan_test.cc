// SPDX-License-Identifier: MIT
// keysieve scan against a fake daemon: what arrives there, what is printed, and how it ends.
#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "gmock/gmock.h"
#include "tests/daemon/client/client_fixture.h"
#include "tests/daemon/client/fake_daemon.h"

namespace keysieve::client {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class Scan : public testing::Test {
 protected:
  ClientRun Run(std::vector<std::string> args) {
    args.insert(args.begin(), {"scan", "--server", daemon_.address()});
    return RunWith(args);
  }
  void TearDown() override { EXPECT_THAT(daemon_.complaints(), IsEmpty()); }

  FakeDaemon daemon_;
  ScratchFolder tree_;
};

TEST_F(Scan, EndsCleanWhenNothingIsFound) {
  tree_.Write("a.txt", "nothing here");
  const ClientRun run = Run({tree_.path()});
  EXPECT_EQ(run.code, 0);
  EXPECT_EQ(run.out, "");
  EXPECT_THAT(run.err, HasSubstr("keysieve: complete: all of 1 file; 12 B scanned on cpu"));
}

TEST_F(Scan, SendsEveryByteOfEveryFileOnce) {
  std::map<std::string, std::vector<std::string>> want;
  for (const size_t size :
       {size_t{0}, size_t{1}, size_t{1} << 20, (size_t{1} << 20) + 1, size_t{5} * 1000 * 1000}) {
    std::string bytes(size, '\0');
    for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * 31 >> 3);
    want[tree_.Write("f" + std::to_string(size), bytes)] = {bytes};
  }
  for (int i = 0; i < 3000; ++i) {
    const std::string text = "small " + std::to_string(i);
    want[tree_.Write("many/" + std::to_string(i), text)] = {text};
  }
  const ClientRun run = Run({"--jobs", "3", tree_.path()});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(daemon_.blobs(), want);
  EXPECT_EQ(daemon_.streams(), 3);
}

TEST_F(Scan, PrintsFindingsInOrderOfPathAndPlace) {
  tree_.Write("b/x", "LEAK-b");
  tree_.Write("a", "one\ntwo LEAK-a LEAK-c");
  tree_.Write("b-", "LEAK-z");
  const ClientRun run = Run({"--format", "jsonl", tree_.path()});
  EXPECT_EQ(run.code, 1);
  std::vector<std::string> places;
  std::istringstream lines(run.out);
  for (std::string line; std::getline(lines, line);) {
    const json record = json::parse(line);
    if (record["type"] != "finding") continue;
    places.push_back(record["path"].get<std::string>().substr(tree_.path().size() + 1) + ":" +
                     std::to_string(record["start"].get<int>()));
  }
  EXPECT_THAT(places, ElementsAre("a:8", "a:15", "b-:0", "b/x:0"));
}

TEST_F(Scan, TextNamesPlaceRuleAndFingerprint) {
  const std::string file = tree_.Write("a", "one\ntwo LEAK-a");
  const ClientRun run = Run({tree_.path()});
  EXPECT_EQ(run.out, file +
                         ":2:5\n  rule         marker  A marker\n  match        LEAK-REDACTED\n"
                         "  secret       REDACTED\n"
                         "  fingerprint  k0:aaaabbbbccccddddeeee\n\n");
  EXPECT_THAT(run.err, HasSubstr("1 finding"));
}

TEST_F(Scan, ColorsOnlyWhenAsked) {
  tree_.Write("a", "LEAK-a");
  EXPECT_THAT(Run({tree_.path()}).out, Not(HasSubstr("\x1b")));
  EXPECT_THAT(Run({"--color", "always", tree_.path()}).out, HasSubstr("\x1b[31mmarker"));
}

TEST_F(Scan, JsonHasTheFieldNamesOfGitleaks) {
  const std::string file = tree_.Write("a", "LEAK-a");
  const ClientRun run = Run({"--format", "json", tree_.path()});
  EXPECT_EQ(run.code, 1);
  const json array = json::parse(run.out);
  ASSERT_EQ(array.size(), 1u);
  EXPECT_EQ(array[0], json({{"RuleID", "marker"},
                            {"Description", "A marker"},
                            {"StartLine", 1},
                            {"EndLine", 1},
                            {"StartColumn", 1},
                            {"EndColumn", 6},
                            {"Match", "LEAK-REDACTED"},
                            {"Secret", "REDACTED"},
                            {"File", file},
                            {"SymlinkFile", ""},
                            {"Commit", ""},
                            {"Entropy", 0.0},
                            {"Author", ""},
                            {"Email", ""},
                            {"Date", ""},
                            {"Message", ""},
                            {"Tags", json::array()},
                            {"Fingerprint", file + ":marker:1"},
                            {"KeysieveFingerprint", "k0:aaaabbbbccccddddeeee"}}));
}

TEST_F(Scan, JsonIsAnEmptyArrayWithoutFindings) {
  tree_.Write("a", "");
  EXPECT_EQ(json::parse(Run({"--format", "json", tree_.path()}).out), json::array());
}

TEST_F(Scan, PathsThatAreNotTextAreExactInBase64) {
  tree_.Write("bad\xff\nname", "LEAK-a");
  const ClientRun run = Run({"--format", "jsonl", tree_.path()});
  const json record = json::parse(run.out.substr(0, run.out.find('\n')));
  EXPECT_THAT(record["path"].get<std::string>(), HasSubstr("bad\xef\xbf\xbd\nname"));
  EXPECT_TRUE(record.contains("path_base64"));
  EXPECT_FALSE(record.contains("match_base64"));
  EXPECT_THAT(Run({tree_.path()}).out, HasSubstr("/bad\\xff\\x0aname:1:1\n"));
}

TEST_F(Scan, SummaryRecordSaysWhetherAllWasScanned) {
  tree_.Write("a", "LEAK-a");
  const auto summary = [&] {
    const std::string out = Run({"--format", "jsonl", tree_.path()}).out;
    return json::parse(out.substr(out.rfind('\n', out.size() - 2) + 1));
  };
  EXPECT_EQ(summary()["complete"], true);
  EXPECT_EQ(summary()["route_bytes"], json({{"cpu", 6}}));
  daemon_.behaviour().limits.set_blob_bytes(5);
  EXPECT_EQ(summary()["complete"], false);
  EXPECT_EQ(summary()["exit_code"], 4);
}

TEST_F(Scan, SuppressedFindingsDoNotCount) {
  tree_.Write("a", "LEAK-a");
  daemon_.behaviour().change = [](const std::string&, v1::BlobResult* result) {
    for (auto& finding : *result->mutable_findings()) finding.set_suppressed_by("base.json");
  };
  const ClientRun run = Run({tree_.path()});
  EXPECT_EQ(run.code, 0);
  EXPECT_EQ(run.out, "");
  EXPECT_THAT(run.err, HasSubstr("0 findings, 1 suppressed"));
  EXPECT_EQ(json::parse(Run({"--format", "json", tree_.path()}).out), json::array());
  EXPECT_THAT(Run({"--format", "jsonl", tree_.path()}).out,
              HasSubstr("\"suppressed_by\":\"base.json\""));
}

TEST_F(Scan, WritesABaselineOfWhatWasFoundWithoutSecrets) {
  tree_.Write("in/a", "LEAK-a");
  tree_.Write("in/b", "LEAK-b");
  tree_.Write("in/c", "LEAK-c");
  daemon_.behaviour().change = [](const std::string& path, v1::BlobResult* result) {
    for (auto& finding : *result->mutable_findings()) {
      finding.set_keysieve_fingerprint(path.ends_with("c") ? "k0:c" : "k0:" + path.substr(0, 1));
      if (path.ends_with("b")) finding.set_suppressed_by("gitleaks:allow");
      if (path.ends_with("c")) finding.set_suppressed_by("old.jsonl");
    }
  };
  const std::string baseline = tree_ / "known.jsonl";
  EXPECT_EQ(Run({"--write-baseline", baseline, tree_ / "in"}).code, 1);
  std::ifstream in(baseline);
  std::vector<json> records;
  for (std::string line; std::getline(in, line);) records.push_back(json::parse(line));
  ASSERT_EQ(records.size(), 2u) << "what a comment allows needs no baseline";
  EXPECT_EQ(records[0]["type"], "finding");
  EXPECT_EQ(records[1]["keysieve_fingerprint"], "k0:c");
  for (const json& record : records) {
    EXPECT_FALSE(record.contains("secret"));
    EXPECT_FALSE(record.contains("match"));
  }
  EXPECT_EQ(Run({"--write-baseline", tree_ / "no/such/folder", tree_ / "in"}).code, 2);
}

TEST_F(Scan, TheIgnoreFileOfTheWorkingFolderIsReadUnlessForbidden) {
  tree_.Write("a", "");
  tree_.Write(".gitleaksignore", "a:rule:1\n");
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(tree_.path());
  Run({"a"});
  Run({"--no-ignore-file", "--decode-depth", "2", "a"});
  std::filesystem::current_path(before);
  ASSERT_EQ(daemon_.scan_options().size(), 2u);
  ASSERT_EQ(daemon_.scan_options()[0].ignores_size(), 1);
  EXPECT_EQ(daemon_.scan_options()[0].ignores(0).name(), ".gitleaksignore");
  EXPECT_FALSE(daemon_.scan_options()[0].has_decode_depth());
  EXPECT_EQ(daemon_.scan_options()[1].ignores_size(), 0);
  EXPECT_EQ(daemon_.scan_options()[1].decode_depth(), 2u);
}

TEST_F(Scan, StandardInputIsOneBlob) {
  const std::string file = tree_.Write("in", std::string(3000000, 'x') + "LEAK-a");
  const int fd = open(file.c_str(), O_RDONLY);
  Interrupt interrupt;
  const ClientRun run = RunWith({"scan", "--server", daemon_.address(), "-"}, interrupt, fd);
  close(fd);
  EXPECT_EQ(run.code, 1);
  EXPECT_THAT(run.out, HasSubstr("-:1:3000001\n"));
  EXPECT_EQ(daemon_.blobs().at("-").at(0).size(), 3000006u);
}

TEST_F(Scan, OutputAppearsWholeAndLeavesNothingElse) {
  tree_.Write("in/a", "LEAK-a");
  tree_.Write("out/report.json", "old");
  const std::string output = tree_ / "out/report.json";
  EXPECT_EQ(Run({"-f", "json", "-o", output, tree_ / "in"}).code, 1);
  EXPECT_EQ(json::parse(ScratchFolder::Read(output)).size(), 1u);
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(tree_ / "out")) {
    names.push_back(entry.path().filename());
  }
  EXPECT_THAT(names, ElementsAre("report.json"));
}

TEST_F(Scan, OutputStaysAsItWasWhenOptionsAreRefused) {
  tree_.Write("in/a", "LEAK-a");
  const std::string output = tree_.Write("out/report.json", "old");
  daemon_.behaviour().on_options = [](int) {
    return grpc::Status(grpc::StatusCode::NOT_FOUND, "no rule set 'strict'; there is: default");
  };
  const ClientRun run = Run({"-o", output, "--rule-set", "strict", tree_ / "in"});
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.err, HasSubstr("no rule set 'strict'"));
  EXPECT_EQ(ScratchFolder::Read(output), "old");
}

TEST_F(Scan, OptionsReachTheDaemon) {
  tree_.Write("in/a", "");
  const std::string rules = tree_.Write("r.toml", "[[rules]]");
  const std::string ours = tree_.Write("b.jsonl", "{}");
  const std::string theirs = tree_.Write("b.json", " [ ]");
  const std::string ignores = tree_.Write("ignore", "x");
  // Paths after a flag of one value are paths to scan.
  EXPECT_EQ(Run({"--rules", rules, "--show-secrets", "--label", "repo", "--baseline", ours,
                 "--baseline", theirs, "--ignore-file", ignores, tree_ / "in"})
                .code,
            0);
  ASSERT_EQ(daemon_.scan_options().size(), 1u);
  const v1::ScanOptions options = daemon_.scan_options()[0];
  EXPECT_EQ(options.rule_toml(), "[[rules]]");
  EXPECT_TRUE(options.show_secrets());
  EXPECT_EQ(options.label(), "repo");
  ASSERT_EQ(options.ignores_size(), 3);
  EXPECT_EQ(options.ignores(0).format(), v1::IgnoreSource::KEYSIEVE_BASELINE);
  EXPECT_EQ(options.ignores(1).format(), v1::IgnoreSource::GITLEAKS_BASELINE);
  EXPECT_EQ(options.ignores(2).format(), v1::IgnoreSource::GITLEAKS_IGNORE);
  EXPECT_EQ(options.ignores(2).content(), "x");
}

TEST_F(Scan, ANamedLinkToAFileIsRead) {
  tree_.Write("secret", "LEAK-a");
  std::filesystem::create_symlink("secret", tree_ / "link");
  EXPECT_THAT(Run({tree_ / "link"}).out, HasSubstr("/link:1:1\n"));
}

TEST_F(Scan, AnEmptyFolderStillAsksTheDaemon) {
  EXPECT_EQ(Run({tree_.path()}).code, 0);
  EXPECT_EQ(daemon_.streams(), 1);
}

}  // namespace
}  // namespace keysieve::client
