// SPDX-License-Identifier: MIT
// Settings: defaults, every key read, and a table of mistakes with the message each must give.
#include "daemon/config/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

#include "daemon/config/log.h"
#include "evidence/base/status.h"

namespace keysieve::config {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

absl::StatusOr<Config> Parse(const std::string& text) {
  return ParseConfig(text, "k.toml", {.listen = {"unix:/tmp/k.sock"}, .rules = "r.toml"});
}

TEST(Config, EmptyFileGivesTheDocumentedDefaults) {
  const auto config = Parse("");
  ASSERT_TRUE(config.ok()) << Message(config.status());
  EXPECT_EQ(config->server.admin_listen, "127.0.0.1:9464");
  EXPECT_EQ(config->limits.blob_bytes, 64 * kMiB);
  EXPECT_EQ(config->session.slots, 256u);
  EXPECT_EQ(config->session.workgroup, 256u);
  EXPECT_EQ(config->session.tenants, 64u);
  EXPECT_EQ(config->metrics.tenants, 100u);
  EXPECT_EQ(config->backend.name, "auto");
  EXPECT_EQ(config->recovery.restart, RestartPolicy::kNever);
}

TEST(Config, EveryKeyIsRead) {
  const auto config = ParseConfig(R"(
[server]
listen = ["unix:/run/a.sock", "[::1]:0"]
admin_listen = "off"
[limits]
blob_bytes = "1MiB"
memory_bytes = 8388608
streams = 7
idle_s = 5
[session]
policy = "epoch"
slots = 128
workgroup = 64
tenants = 3
table_bytes = "2 MiB"
batch_bytes = "256KiB"
batches = 2
[rules]
file = "x.toml"
[decode]
depth = 3
[policy]
inline_allow = false
ignores = false
rules = "any"
[backend]
name = "cpu"
devices = ["0"]
[cpu]
threads = 2
[recovery]
restart = "exec"
max_wait_s = 9
[fingerprint]
keys = [{id = "a1", secret = "0123456789abcdef"}, {id = "a0", secret = "fedcba9876543210"}]
[metrics]
tenants = 4
[log]
level = "debug"
format = "json"
)",
                                  "k.toml", {});
  ASSERT_TRUE(config.ok()) << Message(config.status());
  EXPECT_THAT(config->server.listen, ElementsAre("unix:/run/a.sock", "[::1]:0"));
  EXPECT_EQ(config->server.admin_listen, "");
  EXPECT_EQ(config->limits.blob_bytes, kMiB);
  EXPECT_EQ(config->limits.memory_bytes, 8 * kMiB);
  EXPECT_EQ(config->limits.streams, 7u);
  EXPECT_EQ(config->limits.idle_s, 5u);
  EXPECT_EQ(config->session.policy, SessionPolicy::kEpoch);
  EXPECT_EQ(config->session.slots, 128u);
  EXPECT_EQ(config->session.workgroup, 64u);
  EXPECT_EQ(config->session.tenants, 3u);
  EXPECT_EQ(config->session.table_bytes, 2 * kMiB);
  EXPECT_EQ(config->session.batch_bytes, 256 * kKiB);
  EXPECT_EQ(config->session.batches, 2u);
  EXPECT_EQ(config->rules.file, "x.toml");
  EXPECT_EQ(config->decode.depth, 3u);
  EXPECT_FALSE(config->policy.inline_allow);
  EXPECT_FALSE(config->policy.ignores);
  EXPECT_EQ(config->policy.rules, CallerRules::kAny);
  EXPECT_EQ(config->backend.name, "cpu");
  EXPECT_THAT(config->backend.devices, ElementsAre("0"));
  EXPECT_EQ(config->cpu.threads, 2u);
  EXPECT_EQ(config->recovery.restart, RestartPolicy::kExec);
  EXPECT_EQ(config->recovery.max_wait_s, 9u);
  ASSERT_EQ(config->fingerprint.keys.size(), 2u);
  EXPECT_EQ(config->fingerprint.keys[0].id, "a1");
  EXPECT_EQ(config->fingerprint.keys[1].secret, "fedcba9876543210");
  EXPECT_EQ(config->metrics.tenants, 4u);
  EXPECT_EQ(config->log.level, LogLevel::kDebug);
  EXPECT_EQ(config->log.format, LogFormat::kJson);
}

TEST(Config, FlagsWinOverTheFile) {
  const auto config =
      ParseConfig("[backend]\nname = \"cuda\"\n[server]\nadmin_listen = \"off\"\n", "k.toml",
                  {.listen = {"127.0.0.1:0"},
                   .admin_listen = "127.0.0.1:1",
                   .rules = "r.toml",
                   .backend = "cpu"});
  ASSERT_TRUE(config.ok()) << Message(config.status());
  EXPECT_EQ(config->backend.name, "cpu");
  EXPECT_EQ(config->server.admin_listen, "127.0.0.1:1");
  EXPECT_THAT(config->server.listen, ElementsAre("127.0.0.1:0"));
}

struct Mistake {
  const char* text;
  const char* message;
};

class ConfigMistakes : public ::testing::TestWithParam<Mistake> {};

TEST_P(ConfigMistakes, NamesPlaceAndRemedy) {
  const auto config = Parse(GetParam().text);
  ASSERT_FALSE(config.ok()) << GetParam().text;
  EXPECT_EQ(config.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(config.status()), HasSubstr(GetParam().message)) << GetParam().text;
}

INSTANTIATE_TEST_SUITE_P(
    Table, ConfigMistakes,
    ::testing::Values(
        Mistake{"[limits]\nblob_byte = 1\n",
                "k.toml:2: limits.blob_byte: unknown key; did you mean limits.blob_bytes?"},
        Mistake{"\n[limit]\nblob_bytes = 1\n",
                "k.toml:2: limit: unknown key; did you mean limits?"},
        Mistake{"zzzzzzzzz = 1\n", "k.toml:1: zzzzzzzzz: unknown key"},
        Mistake{"limits = 3\n", "k.toml:1: limits: must be a table, [limits]"},
        Mistake{"[limits]\nblob_bytes = \"64 MB\"\n",
                "k.toml:2: limits.blob_bytes: \"64 MB\" is no size"},
        Mistake{"[limits]\nblob_bytes = -1\n", "must be a number of bytes"},
        Mistake{"[limits]\nblob_bytes = 0\n",
                "limits.blob_bytes: 0 bytes is out of range; from 1 KiB to 16 GiB is allowed"},
        Mistake{"[limits]\nstreams = \"many\"\n", "limits.streams: must be a whole number"},
        Mistake{"[limits]\nstreams = 0\n", "0 is out of range; from 1 to 100000"},
        Mistake{"[limits]\nidle_s = -4\n", "-4 is negative"},
        Mistake{"[limits]\nblob_bytes = \"1GiB\"\nmemory_bytes = \"2MiB\"\n",
                "limits.memory_bytes: 2 MiB cannot hold one blob of limits.blob_bytes = 1 GiB"},
        Mistake{"[decode]\ndepth = 11\n", "k.toml:2: decode.depth: 11 is out of range"},
        Mistake{"[policy]\nignores = \"no\"\n", "k.toml:2: policy.ignores: must be true or false"},
        Mistake{"[policy]\nrules = \"all\"\n", "write one of: none, extend, any"},
        Mistake{"[session]\npolicy = \"spin\"\n",
                "\"spin\" is not known; write one of: auto, resident, epoch"},
        Mistake{"[session]\nslots = 100\nworkgroup = 64\n", "do not divide one another"},
        Mistake{"[server]\nlisten = [1]\n", "server.listen: must be a list of texts"},
        Mistake{"[backend]\nname = \"gpu\"\n", "backend.name: \"gpu\" is not known"},
        Mistake{"[server]\nadmin_listen = \"unix:/x\"\n", "is neither host:port nor off"},
        Mistake{"[fingerprint]\nkeys = [{id = \"a\"}]\n", "either a secret or a file"},
        Mistake{"[fingerprint]\nkeys = [{id = \"a b\", secret = \"0123456789abcdef\"}]\n",
                "must be 1 to 16 letters or digits"},
        Mistake{"[fingerprint]\nkeys = [{id = \"a\", secret = \"short\"}]\n", "under 16 bytes"},
        Mistake{"[fingerprint]\nkeys = [{id = \"a\", file = \"/nonexistent/k\"}]\n",
                "cannot read the key file /nonexistent/k"},
        Mistake{"[log]\nlevel = 3\n", "this value is not known; write one of: debug, info"},
        Mistake{"[limits\n", "k.toml:1: "}));

TEST(Config, BadListenAddressOnTheCommandLineIsNamed) {
  const auto config = ParseConfig("", "", {.listen = {"localhost"}, .rules = "r"});
  ASSERT_FALSE(config.ok());
  EXPECT_THAT(Message(config.status()), HasSubstr("server.listen: \"localhost\" is no address"));
}

TEST(Config, UnreadableFileIsNotFound) {
  const auto config = LoadConfig({.file = "/nonexistent/k.toml"});
  EXPECT_EQ(config.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(Message(config.status()), HasSubstr("/nonexistent/k.toml"));
}

TEST(Config, FingerprintKeyMayComeFromAFile) {
  const std::string path = ::testing::TempDir() + "/fingerprint-key";
  std::ofstream(path) << "0123456789abcdef0123\n";
  const auto config = Parse("[fingerprint]\nkeys = [{id = \"a\", file = \"" + path + "\"}]\n");
  ASSERT_TRUE(config.ok()) << Message(config.status());
  EXPECT_EQ(config->fingerprint.keys[0].secret, "0123456789abcdef0123");
  std::remove(path.c_str());
}

TEST(Log, LinesAreJsonAndLevelsFilter) {
  std::vector<std::string> lines;
  Log log(LogLevel::kInfo, [&](const LogLine& line) { lines.push_back(ToJson(line)); });
  log.Debug("noise", "not seen");
  log.Info("scan", "a \"quoted\" line\xff", {{"bytes", 5}, {"complete", true}, {"label", "x\n"}});
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_THAT(lines[0], HasSubstr(R"("event":"scan")"));
  EXPECT_THAT(lines[0], HasSubstr(R"(a \"quoted\" line)"));
  EXPECT_THAT(lines[0], HasSubstr(R"("bytes":5,"complete":true,"label":"x\n"})"));
}

}  // namespace
}  // namespace keysieve::config
