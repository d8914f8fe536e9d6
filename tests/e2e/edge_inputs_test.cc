// SPDX-License-Identifier: MIT
// Inputs that other scanners got wrong, through the real programs with the rules we ship, on the
// CPU and on Vulkan, cut at random. What is right is counted from how each input is made.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>
#include <thread>

#include "tests/e2e/daemon_process.h"

namespace keysieve::e2e {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::string Pat(unsigned seed) { return FakeGithubToken(seed); }

std::string Utf16(const std::string& ascii, bool little) {
  std::string out;
  for (char c : ascii) out += little ? std::string{c, '\0'} : std::string{'\0', c};
  return out;
}

// One scan with every blob cut at random.
ScanOutcome ScanCut(const std::string& address, const std::vector<File>& files, uint64_t seed,
                    size_t most = 300000) {
  const auto stub = v1::ScanService::NewStub(Dial(address));
  grpc::ClientContext context;
  const auto call = stub->Scan(&context);
  std::thread writer([&] {
    std::mt19937_64 random(seed);
    v1::ScanRequest request;
    request.mutable_options();
    bool open = call->Write(request);
    for (size_t id = 0; open && id < files.size(); ++id) {
      const std::string& bytes = files[id].bytes;
      size_t at = 0;
      do {
        request.Clear();
        v1::Chunk* chunk = request.mutable_chunks()->add_chunks();
        const size_t size = std::min<size_t>(1 + random() % most, bytes.size() - at);
        chunk->set_blob_id(id);
        if (at == 0) chunk->set_path(files[id].path);
        if (at == 0 && random() % 2 == 0) chunk->set_declared_size(bytes.size());
        chunk->set_offset(at);
        chunk->set_data(bytes.substr(at, size));
        at += size;
        chunk->set_last(at == bytes.size());
        open = call->Write(request);
      } while (open && at < bytes.size());
    }
    call->WritesDone();
  });
  ScanOutcome outcome;
  v1::ScanReply reply;
  while (call->Read(&reply)) {
    if (reply.has_summary()) outcome.summary = reply.summary();
    if (!reply.has_blob()) continue;
    const std::string& path = files.at(reply.blob().blob_id()).path;
    auto& findings = outcome.findings[path];
    findings.assign(reply.blob().findings().begin(), reply.blob().findings().end());
    outcome.receipts[path] = reply.blob().receipt();
  }
  writer.join();
  outcome.status = call->Finish();
  return outcome;
}

class EdgeInputs : public testing::TestWithParam<const char*> {
 protected:
  static void TearDownTestSuite() { Daemons().clear(); }
  void SetUp() override {
    auto& daemon = Daemons()[GetParam()];
    if (daemon == nullptr) {
      daemon = std::make_unique<Keysieved>(std::vector<std::string>{"--backend", GetParam()});
    }
    if (!daemon->serving()) {
      GTEST_SKIP() << "no " << GetParam() << " device here: " << daemon->Log();
    }
    daemon_ = daemon.get();
  }

  std::vector<v1::Finding> Find(const std::string& text) {
    const ScanOutcome outcome = ScanCut(daemon_->tcp(), {{"f", text}}, text.size());
    EXPECT_TRUE(outcome.status.ok()) << outcome.status.error_message();
    if (!outcome.status.ok()) return {};
    receipt_ = outcome.receipts.at("f");
    return outcome.findings.at("f");
  }

  Keysieved* daemon_ = nullptr;
  v1::Receipt receipt_;

 private:
  static std::map<std::string, std::unique_ptr<Keysieved>>& Daemons() {
    static auto* daemons = new std::map<std::string, std::unique_ptr<Keysieved>>;
    return *daemons;
  }
};

INSTANTIATE_TEST_SUITE_P(On, EdgeInputs, testing::Values("cpu", "vulkan"),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(EdgeInputs, ManyTokensOneALine) {
  std::string text;
  for (unsigned i = 0; i < 6000; ++i) text += Pat(i) + "\n";
  const auto found = Find(text);
  ASSERT_EQ(found.size(), 6000u);
  std::set<std::string> names;
  for (size_t i = 0; i < found.size(); ++i) {
    ASSERT_EQ(found[i].start_line(), i + 1);
    names.insert(found[i].keysieve_fingerprint());
  }
  EXPECT_EQ(names.size(), 6000u);
}

TEST_P(EdgeInputs, ATokenAcrossByte125000OfTextWithoutABlankLine) {
  std::string text;
  while (text.size() < 125000 - 30) text += "no blank line here\n";
  text.resize(125000 - 21);
  text += '\n';
  EXPECT_EQ(Find(text + Pat(1) + "\n").size(), 1u);
}

TEST_P(EdgeInputs, OneEndlessLineOfTokens) {
  std::string text;
  for (unsigned i = 0; i < 8000; ++i) text += std::string(1010, ' ') + Pat(i);
  for (int run = 0; run < 2; ++run) {
    const auto found = Find(text);
    ASSERT_EQ(found.size(), 8000u);
    for (size_t i = 0; i < found.size(); ++i) ASSERT_EQ(found[i].start_column(), i * 1050 + 1011);
  }
}

TEST_P(EdgeInputs, ALongPrivateKey) {
  std::string text = "-----BEGIN RSA PRIVATE" + std::string(" KEY-----\n");
  std::mt19937 random(1);
  for (int i = 0; i < 2500; ++i) {
    for (int c = 0; c < 63; ++c) text += "ABCDEFGHIJKLMNOPqrstuvwxyz012345"[random() % 32];
    text += "\n";
  }
  const auto found = Find(text + "-----END RSA PRIVATE" + " KEY-----\n");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].rule_id(), "private-key");
  EXPECT_EQ(found[0].end_line(), 2502u);
}

TEST_P(EdgeInputs, ColumnsFarOutAndOnTheSecondLine) {
  auto found = Find(std::string(150000, '.') + Pat(1));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].start_column(), 150001u);
  found = Find("first\n" + std::string(9, ' ') + Pat(1) + "\n");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].start_line(), 2u);
  EXPECT_EQ(found[0].start_column(), 10u);
}

TEST_P(EdgeInputs, Utf16WithAMarkAndWithout) {
  for (const std::string& text : {std::string("\xFF\xFE") + Utf16("a\nk = " + Pat(1) + "\n", true),
                                  Utf16("a\nk = " + Pat(1) + "\n", false)}) {
    const auto found = Find(text);
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].start_line(), 2u);
    EXPECT_EQ(receipt_.gaps_size(), 0);
  }
  EXPECT_EQ(Find(std::string("\xFF\xFE") + Utf16(Pat(1), true) + "x").size(), 1u);
  ASSERT_EQ(receipt_.gaps_size(), 1) << "half a character is named";
  EXPECT_EQ(receipt_.gaps(0).reason(), v1::Omission::UNDECODABLE);
}

TEST_P(EdgeInputs, CharactersThatGrowWhenLowered) {
  std::string text;
  for (int i = 0; i < 20000; ++i) text += "\xC4\xB0";  // U+0130
  const auto found = Find(text + " " + Pat(1));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].start_line(), 1u);
  EXPECT_EQ(found[0].start_column(), 40002u);
}

TEST_P(EdgeInputs, LettersFoldInAsciiOnly) {
  EXPECT_TRUE(Find("roll\xC2\xADbar").empty());
  const std::string value = "_token: 0123456789abcdef0123456789abcdef\n";
  EXPECT_EQ(Find("BITBUC" + std::string("KET") + value).size(), Find("bitbucket" + value).size());
  EXPECT_TRUE(Find("tas\xE2\x84\xAA ta\xC5\xBFk").empty());  // U+212A, U+017F
}

TEST_P(EdgeInputs, TwoTokensOnALine) {
  const auto found = Find(Pat(1) + " " + Pat(2) + "\n");
  ASSERT_EQ(found.size(), 2u);
  EXPECT_NE(found[0].keysieve_fingerprint(), found[1].keysieve_fingerprint());
}

TEST_P(EdgeInputs, NoByteOfARedactedSecretInAnyField) {
  const std::string text = "a = " + Pat(1) + " b = " + Pat(2);  // no newline at the end
  const auto found = Find(text);
  ASSERT_EQ(found.size(), 2u);
  for (const v1::Finding& finding : found) {
    for (unsigned seed : {1u, 2u}) {
      for (size_t at = 4; at + 6 <= Pat(seed).size(); ++at) {
        EXPECT_THAT(finding.SerializeAsString(), Not(HasSubstr(Pat(seed).substr(at, 6))));
        EXPECT_THAT(daemon_->Log(), Not(HasSubstr(Pat(seed).substr(at, 6))));
      }
    }
  }
  EXPECT_EQ(Scan(daemon_->socket(), {{"f", text}}, true).findings.at("f").size(), 2u)
      << "in the clear there are as many";
}

TEST_P(EdgeInputs, NestedPercentAndBase64StayBounded) {
  std::string text;
  for (int i = 0; text.size() < 400000; ++i) text += "key%3D" + std::to_string(i) + "%2541%252541 ";
  static constexpr char kDigits[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (int layer = 0; layer < 9 && text.size() < 8300000; ++layer) {
    std::string out;
    for (size_t i = 0; i + 3 <= text.size(); i += 3) {
      const uint32_t bits = static_cast<uint8_t>(text[i]) << 16 |
                            static_cast<uint8_t>(text[i + 1]) << 8 |
                            static_cast<uint8_t>(text[i + 2]);
      for (int shift = 18; shift >= 0; shift -= 6) out += kDigits[bits >> shift & 63];
    }
    text = layer % 2 == 0 ? out : out + "%41";
  }
  text.resize(std::min<size_t>(text.size(), 8300000));
  Find(text);
  EXPECT_EQ(receipt_.scanned_bytes(), text.size());
}

TEST_P(EdgeInputs, CutsConnectionsAndOrderChangeNothing) {
  std::vector<File> files;
  std::mt19937_64 random(5);
  for (unsigned i = 0; i < 50; ++i) {
    std::string text = Filler(random() % 3000, i);
    for (size_t n = random() % 4; n > 0; --n) {
      text += (random() % 2 == 0 ? " " : "\r\n") + Pat(i * 10 + static_cast<unsigned>(n)) + "%0A ";
    }
    files.push_back({"f" + std::to_string(i), text + Filler(random() % 3000, i + 100)});
  }
  const auto spell = [](const ScanOutcome& outcome) {
    std::map<std::string, std::vector<std::string>> spelled;
    for (const auto& [path, findings] : outcome.findings) {
      for (const v1::Finding& finding : findings) {
        spelled[path].push_back(finding.SerializeAsString());
      }
    }
    return spelled;
  };
  const auto wanted = spell(ScanCut(daemon_->tcp(), files, 0));
  for (const size_t streams : {1, 7, 32}) {
    std::shuffle(files.begin(), files.end(), random);
    std::map<std::string, std::vector<std::string>> got;
    std::vector<std::thread> threads;
    std::vector<ScanOutcome> outcomes(streams);
    for (size_t s = 0; s < streams; ++s) {
      std::vector<File> share;
      for (size_t i = s; i < files.size(); i += streams) share.push_back(files[i]);
      threads.emplace_back([&, s, share = std::move(share)] {
        outcomes[s] = ScanCut(daemon_->tcp(), share, s, 700);
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (const ScanOutcome& outcome : outcomes) {
      ASSERT_TRUE(outcome.status.ok()) << outcome.status.error_message();
      got.merge(spell(outcome));
    }
    EXPECT_EQ(got, wanted) << streams << " streams";
  }
}

TEST_P(EdgeInputs, OddBytes) {
  std::string cut = Pat(1);
  cut.insert(20, 1, '\0');
  EXPECT_TRUE(Find(cut).empty()) << "nothing is glued across a NUL";
  for (const std::string end : {"\n", "\r\n", "\r"}) {
    const auto found = Find("a" + end + end + "  " + Pat(1) + end);
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].start_line(), 3u);
    EXPECT_EQ(found[0].start_column(), 3u);
  }
  EXPECT_EQ(Find("\xE9\xFF " + Pat(1) + " \xE9").size(), 1u);
  EXPECT_TRUE(Find("").empty());
  EXPECT_TRUE(Find("g").empty());
}

// ---- With the client: what was known, what is new, what was left out.

class KnownFindings : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(daemon_.serving()) << daemon_.Log(); }
  Ended Client(std::vector<std::string> args) {
    std::vector<std::string> argv = {KEYSIEVE, "scan", "--server", daemon_.socket()};
    argv.insert(argv.end(), args.begin(), args.end());
    return RunProgram(argv);
  }
  Keysieved daemon_{{"--backend", "cpu"}};
  Folder folder_;
};

TEST_F(KnownFindings, AMovedSecretStaysKnownAndASwappedOneIsNew) {
  const std::string file = folder_.Write("a.txt", "one\nkey " + Pat(1) + "\n");
  const std::string ours = folder_.path() + "/known.jsonl";
  const std::string json = folder_.path() + "/known.json";
  EXPECT_EQ(Client({"--write-baseline", ours, "--format", "json", "-o", json, file}).code, 1);
  for (const std::string& baseline : {ours, json}) {
    EXPECT_EQ(Client({"--baseline", baseline, file}).code, 0);
    folder_.Write("a.txt", "lines\ninserted\nabove\none\n   key " + Pat(1) + "\n");
    const Ended moved = Client({"--baseline", baseline, file});
    EXPECT_EQ(moved.code, 0) << moved.output;
    EXPECT_THAT(moved.output, HasSubstr("1 suppressed"));
    folder_.Write("a.txt", "one\nkey " + Pat(2) + "\n");
    EXPECT_EQ(Client({"--baseline", baseline, file}).code, 1) << "swapped on the same line";
    folder_.Write("a.txt", "one\nkey " + Pat(1) + "\n");
  }
  const std::string ignore = folder_.Write("ignore", file + ":github-pat:2\n");
  const Ended ignored = Client({"--ignore-file", ignore, "--format", "jsonl", file});
  EXPECT_EQ(ignored.code, 0);
  EXPECT_THAT(ignored.output, HasSubstr("/ignore:1\""));
  EXPECT_EQ(Client({"--baseline", folder_.Write("bad.json", "[1"), file}).code, 2);
}

TEST_F(KnownFindings, AFileOverTheLimitIsAGapWithItsOwnExitCode) {
  const std::string config = folder_.Write("c.toml", "[limits]\nblob_bytes = \"5MiB\"\n");
  Keysieved small({"--backend", "cpu", "--config", config});
  ASSERT_TRUE(small.serving()) << small.Log();
  const std::string file = folder_.Write("large", std::string(8 << 20, 'x'));
  const Ended ended = RunProgram({KEYSIEVE, "scan", "--server", small.socket(), file});
  EXPECT_EQ(ended.code, 4) << ended.output;
  EXPECT_THAT(ended.output, HasSubstr("INCOMPLETE"));
}

TEST_F(KnownFindings, PolicyMayForbidWhatSuppresses) {
  const std::string config =
      folder_.Write("p.toml", "[policy]\ninline_allow = false\nignores = false\n");
  Keysieved strict({"--backend", "cpu", "--config", config});
  ASSERT_TRUE(strict.serving()) << strict.Log();
  const std::string file = folder_.Write("a.txt", Pat(1) + " # gitleaks:allow\n");
  EXPECT_EQ(Client({file}).code, 0);
  const auto scan = [&](std::vector<std::string> args) {
    args.insert(args.begin(), {KEYSIEVE, "scan", "--server", strict.socket()});
    return RunProgram(args);
  };
  EXPECT_EQ(scan({file}).code, 1);
  const Ended refused = scan({"--ignore-file", folder_.Write("i", "x:y:1\n"), file});
  EXPECT_EQ(refused.code, 2) << refused.output;
  EXPECT_THAT(refused.output, HasSubstr("policy.ignores"));
}

}  // namespace
}  // namespace keysieve::e2e
