// SPDX-License-Identifier: MIT
// keysieve match, status and ping against a fake daemon.
#include <nlohmann/json.hpp>

#include "gmock/gmock.h"
#include "tests/daemon/client/client_fixture.h"
#include "tests/daemon/client/fake_daemon.h"

namespace keysieve::client {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class Match : public testing::Test {
 protected:
  ClientRun Run(std::vector<std::string> args) {
    args.insert(args.begin(), {"match", "--server", daemon_.address()});
    return RunWith(args);
  }
  FakeDaemon daemon_;
  ScratchFolder tree_;
};

TEST_F(Match, PrintsPlaceAndLiteralALine) {
  const std::string b = tree_.Write("in/b", "xaba");
  const std::string a = tree_.Write("in/a", "ab");
  const std::string patterns = tree_.Write("p", "ab\naba\n");
  const ClientRun run = Run({"--patterns", patterns, tree_ / "in"});
  EXPECT_EQ(run.code, 1);
  EXPECT_EQ(run.out, a + ":0:2:ab\n" + b + ":1:3:ab\n" + b + ":1:4:aba\n");
  EXPECT_THAT(run.err, HasSubstr("3 matches"));
}

TEST_F(Match, EscapesBytesInBothDirections) {
  const std::string file = tree_.Write("in/a", std::string("x\0\xff\\", 4));
  const std::string patterns = tree_.Write("p", "\\x00\\xFF\\\\\n");
  const ClientRun run = Run({"--patterns", patterns, "--escaped", tree_ / "in"});
  EXPECT_EQ(run.out, file + ":1:4:\\x00\\xff\\\\\n");
}

TEST_F(Match, JsonIsAnArray) {
  const std::string file = tree_.Write("in/a", "zz");
  const std::string patterns = tree_.Write("p", "none\nz\n");
  const ClientRun run = Run({"--format", "json", "--patterns", patterns, tree_ / "in"});
  EXPECT_EQ(
      json::parse(run.out),
      json::array({{{"path", file}, {"start", 0}, {"end", 1}, {"pattern", 1}, {"literal", "z"}},
                   {{"path", file}, {"start", 1}, {"end", 2}, {"pattern", 1}, {"literal", "z"}}}));
}

TEST_F(Match, EndsCleanWithoutAMatch) {
  tree_.Write("in/a", "zz");
  const std::string patterns = tree_.Write("p", "none\n");
  const ClientRun run = Run({"--patterns", patterns, tree_ / "in"});
  EXPECT_EQ(run.code, 0);
  EXPECT_EQ(run.out, "");
}

TEST_F(Match, ABadPatternFileIsAUsageError) {
  const std::string patterns = tree_.Write("p", "i no tab\n");
  const ClientRun run = Run({"--patterns", patterns, "--tagged", tree_.path()});
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.err, HasSubstr("p, line 1: a tagged line begins with i or s and a tab"));
}

TEST(Status, TellsWhatTheDaemonSays) {
  FakeDaemon daemon;
  const ClientRun run = RunWith({"status", "--server", daemon.address()});
  EXPECT_EQ(run.code, 0);
  EXPECT_THAT(run.out, HasSubstr("keysieved 9.8.7"));
  EXPECT_THAT(run.out, HasSubstr("device    cpu 0  a processor  open"));
  EXPECT_THAT(run.out, HasSubstr("http://127.0.0.1:9/metrics"));
  const ClientRun as_json = RunWith({"status", "--json", "--server", daemon.address()});
  EXPECT_EQ(json::parse(as_json.out)["version"], "9.8.7");
}

TEST(Status, FailsWithoutADaemon) {
  EXPECT_EQ(RunWith({"status", "--server", "unix:/nowhere/s"}).code, 3);
}

TEST(Ping, SaysReadyOrNot) {
  FakeDaemon daemon;
  EXPECT_EQ(RunWith({"ping", "--server", daemon.address()}).code, 0);
  daemon.behaviour().ready = false;
  const ClientRun run = RunWith({"ping", "--wait", "0.2", "--server", daemon.address()});
  EXPECT_EQ(run.code, 3);
  EXPECT_THAT(run.err, HasSubstr("is not ready yet"));
}

}  // namespace
}  // namespace keysieve::client
