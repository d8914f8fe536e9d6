// SPDX-License-Identifier: MIT
// The small parts: escapes, pattern files, addresses, exit codes, numbers, the interrupt.
#include <random>
#include <thread>

#include "daemon/client/connection.h"
#include "daemon/client/escape.h"
#include "daemon/client/exit_code.h"
#include "daemon/client/files.h"
#include "daemon/client/patterns.h"
#include "daemon/client/progress_bar.h"
#include "daemon/client/units.h"
#include "evidence/base/status.h"
#include "gmock/gmock.h"
#include "tests/daemon/client/client_fixture.h"
#include "tests/daemon/client/fake_daemon.h"

namespace keysieve::client {
namespace {

using testing::HasSubstr;

TEST(Escape, TerminalTextKeepsLettersAndNoControls) {
  EXPECT_EQ(EscapeForTerminal("gr\xc3\xbc\xc3\x9f"), "gr\xc3\xbc\xc3\x9f");
  EXPECT_EQ(EscapeForTerminal("a\nb\x1b[31m\\"), "a\\x0ab\\x1b[31m\\\\");
  EXPECT_EQ(EscapeForTerminal("\xff\xc3("), "\\xff\\xc3(");
  EXPECT_EQ(EscapeForTerminal("\xc2\x9b"), "\\xc2\\x9b") << "a C1 control";
  EXPECT_EQ(EscapeForTerminal("\xe2\x80\xae"), "\\xe2\\x80\\xae") << "right-to-left override";
  EXPECT_EQ(EscapeForTerminal("\xc0\x80\xed\xa0\x80"), "\\xc0\\x80\\xed\\xa0\\x80");
}

TEST(Escape, LiteralsShowEveryByteThatIsNotPrintable) {
  EXPECT_EQ(EscapeLiteral(std::string("a b\\\x00\xff~", 7)), "a b\\\\\\x00\\xff~");
}

TEST(Escape, UnescapeIsTheInverseForAnyBytes) {
  std::mt19937 random(7);
  for (int round = 0; round < 500; ++round) {
    std::string bytes(random() % 40, '\0');
    for (char& c : bytes) c = static_cast<char>(random() % 3 ? random() : '\\');
    EXPECT_EQ(*Unescape(EscapeLiteral(bytes)), bytes);
    EXPECT_EQ(*Unescape(EscapeForTerminal(bytes)), bytes);
  }
}

TEST(Escape, UnescapeNamesTheColumnOfAMistake) {
  for (const char* bad : {"ab\\", "ab\\n", "ab\\x1", "ab\\xg0"}) {
    const auto result = Unescape(bad);
    ASSERT_FALSE(result.ok()) << bad;
    EXPECT_THAT(Message(result.status()), HasSubstr("column 3"));
  }
}

TEST(Escape, Utf8IsJudgedStrictly) {
  EXPECT_TRUE(IsUtf8("a\xc3\xa9\xe2\x82\xac\xf0\x9f\x94\x91"));
  for (const char* bad : {"\x80", "\xc3", "\xc1\xbf", "\xed\xbf\xbf", "\xf4\x90\x80\x80", "\xf8"}) {
    EXPECT_FALSE(IsUtf8(bad));
  }
}

TEST(Escape, Base64KnowsEveryTail) {
  EXPECT_EQ(Base64(""), "");
  EXPECT_EQ(Base64("f"), "Zg==");
  EXPECT_EQ(Base64("fo"), "Zm8=");
  EXPECT_EQ(Base64("foo"), "Zm9v");
  EXPECT_EQ(Base64("foobar"), "Zm9vYmFy");
  EXPECT_EQ(Base64("\xff\xfe\xfd"), "//79");
}

TEST(Patterns, OneLiteralALine) {
  const auto patterns = ParsePatterns("one\n\ntwo \r\nth\\ree", {.ignore_case = true});
  ASSERT_TRUE(patterns.ok());
  ASSERT_EQ(patterns->size(), 3u);
  EXPECT_EQ((*patterns)[1].literal(), "two ");
  EXPECT_EQ((*patterns)[2].literal(), "th\\ree");
  EXPECT_TRUE((*patterns)[0].ignore_case());
}

TEST(Patterns, TagsSetTheCaseAndEscapesTheBytes) {
  const auto patterns = ParsePatterns("i\tab\ns\t\\x00\\\\\n", {.escaped = true, .tagged = true});
  ASSERT_TRUE(patterns.ok());
  EXPECT_TRUE((*patterns)[0].ignore_case());
  EXPECT_FALSE((*patterns)[1].ignore_case());
  EXPECT_EQ((*patterns)[1].literal(), std::string("\0\\", 2));
}

TEST(Patterns, MistakesNameTheLine) {
  const auto message = [](const std::string& text, PatternSyntax syntax) {
    const auto result = ParsePatterns(text, syntax);
    return result.ok() ? "accepted" : Message(result.status());
  };
  EXPECT_THAT(message("a\nb", {.tagged = true}), HasSubstr("line 1: a tagged line begins"));
  EXPECT_THAT(message("i\ta\nx\tb", {.tagged = true}), HasSubstr("line 2"));
  EXPECT_THAT(message("a\n\\q", {.escaped = true}), HasSubstr("line 2: column 1"));
  EXPECT_THAT(message(std::string(256, 'a'), {}), HasSubstr("this one has 256"));
  EXPECT_THAT(message("\n\n", {}), HasSubstr("no literal"));
  EXPECT_EQ(message(std::string(255, 'a'), {}), "accepted");
}

TEST(Address, FormsAreTold) {
  EXPECT_EQ(ParseServerAddress("unix:/run/x")->target, "unix:/run/x");
  EXPECT_EQ(ParseServerAddress("/run/x")->target, "unix:/run/x");
  EXPECT_EQ(ParseServerAddress("host:50051")->target, "host:50051");
  EXPECT_EQ(ParseServerAddress("[::1]:50051")->target, "[::1]:50051");
  EXPECT_EQ(ParseServerAddress("dns:///a:1")->target, "dns:///a:1");
  for (const char* bad : {"", "host", "host:", "host:0", "host:65536", "host:1x", ":80", "unix:"}) {
    EXPECT_FALSE(ParseServerAddress(bad).ok()) << bad;
  }
}

TEST(Address, DefaultPrefersTheEnvironmentThenTheUsersSocket) {
  std::map<std::string, std::string> environment;
  const auto get = [&](const char* name) -> const char* {
    const auto found = environment.find(name);
    return found == environment.end() ? nullptr : found->second.c_str();
  };
  EXPECT_EQ(DefaultServer(get), "unix:/run/keysieve/keysieve.sock");
  environment["KEYSIEVE_SERVER"] = "host:1";
  EXPECT_EQ(DefaultServer(get), "host:1");
}

TEST(Address, RetryDelayIsReadFromTheDetails) {
  EXPECT_EQ(RetryDelay(FullWithRetryInfo(120)), std::chrono::milliseconds(120));
  EXPECT_EQ(RetryDelay(grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "too large")),
            std::nullopt);
  EXPECT_EQ(RetryDelay(grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "", "\xff\xff\x01junk")),
            std::nullopt);
}

TEST(ExitCode, ThePrecedenceHoldsForEveryCombination) {
  for (int bits = 0; bits < 32; ++bits) {
    Outcome outcome;
    outcome.interrupted = bits & 1;
    outcome.usage = bits & 2;
    outcome.failed = bits & 4;
    outcome.findings = bits & 8;
    outcome.gaps = bits & 16;
    const int want = (bits & 1)    ? 130
                     : (bits & 2)  ? 2
                     : (bits & 4)  ? 3
                     : (bits & 8)  ? 1
                     : (bits & 16) ? 4
                                   : 0;
    EXPECT_EQ(ExitCodeOf(outcome, 1), want);
    EXPECT_EQ(ExitCodeOf(outcome, 77), want == 1 ? 77 : want);
  }
}

TEST(Units, AreReadable) {
  EXPECT_EQ(BytesText(999), "999 B");
  EXPECT_EQ(BytesText(1000), "1.0 kB");
  EXPECT_EQ(BytesText(999960), "1.0 MB");
  EXPECT_EQ(BytesText(UINT64_MAX), "18.4 EB");
  EXPECT_EQ(SecondsText(0.4111), "0.41 s");
  EXPECT_EQ(SecondsText(125), "2 min 5 s");
  EXPECT_EQ(CountText(1, "match"), "1 match");
  EXPECT_EQ(CountText(2, "match"), "2 matches");
  EXPECT_EQ(CountText(0, "file"), "0 files");
}

TEST(ProgressBar, NeverRunsPastItsEnd) {
  Progress progress;
  progress.bytes_sent = 300;
  progress.blobs_settled = 2;
  progress.findings = 1;
  EXPECT_EQ(ProgressLine(progress, 2, 200),
            "[########################] 2/2 files  200 B of 200 B  1 found");
  EXPECT_THAT(ProgressLine(progress, 4, 600), HasSubstr("[############............]"));
}

TEST(Interrupt, WakesSleepersAndRunsActionsOnce) {
  Interrupt interrupt;
  int calls = 0;
  {
    const auto ended = interrupt.OnTrigger([&] { calls += 100; });
  }
  const auto handle = interrupt.OnTrigger([&] { ++calls; });
  EXPECT_FALSE(interrupt.WaitFor(std::chrono::milliseconds(1)));
  std::thread other([&] { interrupt.Trigger(); });
  EXPECT_TRUE(interrupt.WaitFor(std::chrono::hours(1)));
  other.join();
  interrupt.Trigger();
  EXPECT_EQ(calls, 1);
  const auto late = interrupt.OnTrigger([&] { calls += 10; });
  EXPECT_EQ(calls, 11);
}

TEST(AtomicFile, LeavesNothingWithoutACommit) {
  ScratchFolder folder;
  { ASSERT_TRUE(AtomicFile::Create(folder / "r").ok()); }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  auto file = AtomicFile::Create(folder / "r");
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE((*file)->Commit("text").ok());
  EXPECT_EQ(ScratchFolder::Read(folder / "r"), "text");
  EXPECT_EQ(std::filesystem::status(folder / "r").permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
}

TEST(SmallFile, IsReadWholeOrNotAtAll) {
  ScratchFolder folder;
  const std::string path = folder.Write("f", "12345");
  EXPECT_EQ(*ReadSmallFile(path, 5, Links::kFollow), "12345");
  EXPECT_THAT(Message(ReadSmallFile(path, 4, Links::kFollow).status()), HasSubstr("limit of 4"));
  EXPECT_FALSE(ReadSmallFile(folder.path(), 5, Links::kFollow).ok());
  std::filesystem::create_symlink(path, folder / "l");
  EXPECT_TRUE(ReadSmallFile(folder / "l", 5, Links::kFollow).ok());
  EXPECT_FALSE(ReadSmallFile(folder / "l", 5, Links::kRefuse).ok());
}

}  // namespace
}  // namespace keysieve::client
