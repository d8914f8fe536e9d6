// SPDX-License-Identifier: MIT
// What a scan does when the world does not hold still: gaps, broken and full daemons, interruption,
// and which exit code wins.
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <nlohmann/json.hpp>
#include <thread>

#include "gmock/gmock.h"
#include "tests/daemon/client/client_fixture.h"
#include "tests/daemon/client/fake_daemon.h"

namespace keysieve::client {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class Trouble : public testing::Test {
 protected:
  ClientRun Run(std::vector<std::string> args) {
    args.insert(args.begin(), {"scan", "--server", daemon_.address()});
    return RunWith(args);
  }
  void TearDown() override { EXPECT_THAT(daemon_.complaints(), IsEmpty()); }

  FakeDaemon daemon_;
  ScratchFolder tree_;
};

TEST_F(Trouble, AFileThatVanishedAfterTheWalkIsAGap) {
  tree_.Write("a", "fine");
  const std::string gone = tree_.Write("b", "LEAK-b");
  daemon_.behaviour().on_options = [&](int) {
    unlink(gone.c_str());
    return grpc::Status::OK;
  };
  const ClientRun run = Run({tree_.path()});
  EXPECT_EQ(run.code, 4);
  EXPECT_THAT(run.err, HasSubstr("gap: " + gone + ": vanished"));
  EXPECT_THAT(run.err, HasSubstr("INCOMPLETE: 2 files, 1 gap"));
}

TEST_F(Trouble, AFileThatBecameALinkIsNotFollowed) {
  const std::string secret = tree_.Write("outside", "LEAK-a");
  const std::string file = tree_.Write("in/b", "fine");
  daemon_.behaviour().on_options = [&](int) {
    unlink(file.c_str());
    EXPECT_EQ(symlink(secret.c_str(), file.c_str()), 0);
    return grpc::Status::OK;
  };
  const ClientRun run = Run({tree_ / "in"});
  EXPECT_EQ(run.code, 4);
  EXPECT_THAT(daemon_.blobs(), IsEmpty());
}

TEST_F(Trouble, AFileThatShrinksWhileItIsReadIsScannedAndAGap) {
  const std::string file = tree_.Write("big", "LEAK-a" + std::string(48 << 20, 'x'));
  std::atomic<bool> cut{false};
  daemon_.behaviour().on_chunk = [&](const v1::Chunk&) {
    // The client is still held up by flow control, megabytes before the end.
    if (!cut.exchange(true)) {
      EXPECT_EQ(truncate(file.c_str(), 40 << 20), 0);
    }
  };
  const ClientRun run = Run({tree_.path()});
  EXPECT_EQ(run.code, 1);
  EXPECT_THAT(run.err, HasSubstr("truncated"));
  EXPECT_THAT(run.err, HasSubstr("shrank from"));
  ASSERT_THAT(daemon_.blobs()[file], SizeIs(1));
  EXPECT_EQ(daemon_.blobs()[file][0].size(), size_t{40} << 20);
}

TEST_F(Trouble, AFileThatGrowsWhileItIsReadIsAGap) {
  const std::string file = tree_.Write("big", std::string(48 << 20, 'x'));
  std::atomic<bool> grown{false};
  daemon_.behaviour().on_chunk = [&](const v1::Chunk&) {
    if (!grown.exchange(true)) std::ofstream(file, std::ios::app) << "LEAK-late";
  };
  const ClientRun run = Run({tree_.path()});
  EXPECT_EQ(run.code, 4);
  EXPECT_THAT(run.err, HasSubstr("grew past"));
  EXPECT_EQ(daemon_.blobs()[file][0].size(), size_t{48} << 20);
}

TEST_F(Trouble, AnUnreadableFileIsAGap) {
  const std::string file = tree_.Write("b", "LEAK-b");
  tree_.Write("a", "LEAK-a");
  chmod(file.c_str(), 0);
  const AsNobody nobody;
  const ClientRun run = Run({"--exit-code", "0", tree_.path()});
  EXPECT_EQ(run.code, 4);
  EXPECT_THAT(run.out, HasSubstr("/a:1:1"));
  EXPECT_THAT(run.err, HasSubstr("gap: " + file + ": read_error"));
}

TEST_F(Trouble, AFileThatFailsWhileItIsReadIsAGap) {
  const char* unreadable = "/proc/self/mem";  // offset 0 is never mapped: EIO
  const ClientRun run = Run({unreadable});
  EXPECT_EQ(run.code, 4);
  EXPECT_THAT(run.err, HasSubstr("gap: /proc/self/mem: "));
}

TEST_F(Trouble, ABlobOverTheLimitIsNotSent) {
  daemon_.behaviour().limits.set_blob_bytes(10);
  tree_.Write("big", std::string(11, 'x'));
  tree_.Write("fits", std::string(10, 'x'));
  const ClientRun run = Run({tree_.path()});
  EXPECT_EQ(run.code, 4);
  EXPECT_THAT(run.err, HasSubstr("blob_limit, bytes 0 to 11: it has 11 bytes and the daemon's"));
  EXPECT_THAT(daemon_.blobs(), SizeIs(1));
}

TEST_F(Trouble, SmallLimitsOfTheDaemonAreKept) {
  daemon_.behaviour().limits.set_chunk_bytes(100);
  daemon_.behaviour().limits.set_message_bytes(1000);
  size_t largest = 0;
  daemon_.behaviour().on_chunk = [&](const v1::Chunk& chunk) {
    largest = std::max(largest, chunk.data().size());
  };
  const std::string file = tree_.Write("f", std::string(12345, 'x') + "LEAK-a");
  EXPECT_EQ(Run({tree_.path()}).code, 1);
  EXPECT_EQ(largest, 100u);
  EXPECT_EQ(daemon_.blobs()[file][0].size(), 12351u);
}

TEST_F(Trouble, BytesWithoutAReceiptAreAGap) {
  tree_.Write("f", "12345678");
  daemon_.behaviour().change = [](const std::string&, v1::BlobResult* result) {
    result->mutable_receipt()->set_scanned_bytes(5);
  };
  const ClientRun run = Run({tree_.path()});
  EXPECT_EQ(run.code, 4);
  EXPECT_THAT(run.err, HasSubstr("scanned 5 of 8 bytes and gave no reason"));
}

TEST_F(Trouble, ExclusionsDoNotChangeTheExit) {
  tree_.Write("f", "12345678");
  daemon_.behaviour().change = [](const std::string&, v1::BlobResult* result) {
    result->mutable_receipt()->set_scanned_bytes(0);
    result->mutable_receipt()->add_exclusions()->set_reason(v1::Omission::ALLOWLISTED_PATH);
  };
  const ClientRun run = Run({tree_.path()});
  EXPECT_EQ(run.code, 0);
  EXPECT_THAT(run.err, HasSubstr("excluded: 1 allowlisted_path"));
}

TEST_F(Trouble, ABrokenStreamLosesNoBlobAndRepeatsNoFinding) {
  for (int i = 0; i < 400; ++i) tree_.Write("f" + std::to_string(i), "LEAK-a");
  std::atomic<int> answers{0};
  daemon_.behaviour().before_answer = [&](int, const std::string&) {
    const int n = ++answers;
    return n == 7 || n == 150 ? grpc::Status(grpc::StatusCode::UNAVAILABLE, "going away")
                              : grpc::Status::OK;
  };
  const ClientRun run = Run({"--format", "json", tree_.path()});
  EXPECT_EQ(run.code, 1);
  EXPECT_EQ(nlohmann::json::parse(run.out).size(), 400u);
  EXPECT_THAT(run.err, HasSubstr("complete: all of 400 files"));
  EXPECT_GE(daemon_.streams(), 3);
}

TEST_F(Trouble, AFullDaemonIsTriedAgainWhenItSaysWhen) {
  tree_.Write("f", "LEAK-a");
  daemon_.behaviour().on_options = [](int stream) {
    return stream < 3 ? FullWithRetryInfo(20) : grpc::Status::OK;
  };
  EXPECT_EQ(Run({tree_.path()}).code, 1);
  EXPECT_EQ(daemon_.streams(), 4);
}

TEST_F(Trouble, ResourceExhaustedWithoutADelayIsFinal) {
  tree_.Write("f", "LEAK-a");
  daemon_.behaviour().on_options = [](int) {
    return grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "message too large");
  };
  EXPECT_EQ(Run({tree_.path()}).code, 3);
  EXPECT_EQ(daemon_.streams(), 1);
}

TEST_F(Trouble, RetriesAreBounded) {
  tree_.Write("f", "LEAK-a");
  daemon_.behaviour().on_options = [](int) { return FullWithRetryInfo(1); };
  const ClientRun run = Run({"--retries", "2", tree_.path()});
  EXPECT_EQ(run.code, 3);
  EXPECT_EQ(daemon_.streams(), 3);
  EXPECT_THAT(run.err, HasSubstr("the service failed; 1 of 1 file not scanned"));
}

TEST_F(Trouble, AFailureKeepsWhatIsKnown) {
  tree_.Write("a", "LEAK-a");
  tree_.Write("b", "LEAK-b");
  daemon_.behaviour().before_answer = [](int, const std::string& path) {
    return path.back() == 'b' ? grpc::Status(grpc::StatusCode::DATA_LOSS, "broken")
                              : grpc::Status::OK;
  };
  const ClientRun run = Run({tree_.path()});
  EXPECT_EQ(run.code, 3);
  EXPECT_THAT(run.out, HasSubstr("/a:1:1"));
  EXPECT_THAT(run.err, HasSubstr("1 of 2 files not scanned"));
}

TEST_F(Trouble, AnAnswerForAnUnknownBlobIsAFailure) {
  tree_.Write("a", "LEAK-a");
  daemon_.behaviour().change = [](const std::string&, v1::BlobResult* result) {
    result->set_blob_id(77);
  };
  const ClientRun run = Run({tree_.path()});
  EXPECT_EQ(run.code, 3);
  EXPECT_THAT(run.err, HasSubstr("blob 77 was answered and is not under way"));
}

TEST_F(Trouble, AReplyThatIsNoMessageIsAFailureAndNoHang) {
  tree_.Write("a", "LEAK-a");
  daemon_.behaviour().change = [](const std::string&, v1::BlobResult* result) {
    result->mutable_findings(0)->set_fingerprint("\xff");
  };
  EXPECT_EQ(Run({tree_.path()}).code, 3);
}

TEST_F(Trouble, TheTimeoutTurnsWhatIsLeftIntoGaps) {
  tree_.Write("a", "x");
  tree_.Write("b", "x");
  daemon_.behaviour().before_answer = [](int, const std::string& path) {
    if (path.back() == 'b') std::this_thread::sleep_for(std::chrono::seconds(2));
    return grpc::Status::OK;
  };
  const ClientRun run = Run({"--timeout", "0.7", tree_.path()});
  EXPECT_EQ(run.code, 4);
  EXPECT_THAT(run.err, HasSubstr("/b: timeout"));
}

TEST_F(Trouble, PrecedenceOfExits) {
  tree_.Write("a", "LEAK-a");
  tree_.Write("big", std::string(100, 'x'));
  daemon_.behaviour().limits.set_blob_bytes(50);
  EXPECT_EQ(Run({tree_.path()}).code, 1) << "findings before a gap";
  EXPECT_EQ(Run({"--exit-code", "9", tree_.path()}).code, 9) << "the code replaces the 1";
  EXPECT_EQ(Run({"--exit-code", "0", tree_.path()}).code, 4) << "and hides no gap";
  daemon_.behaviour().before_answer = [](int, const std::string&) {
    return grpc::Status(grpc::StatusCode::DATA_LOSS, "broken");
  };
  EXPECT_EQ(Run({"--exit-code", "9", tree_.path()}).code, 3) << "a failure before both";
  EXPECT_EQ(Run({"--no-such-flag", tree_.path()}).code, 2);
}

TEST_F(Trouble, AnInterruptionCancelsAndTellsWhatIsKnown) {
  for (int i = 0; i < 20; ++i) tree_.Write("f" + std::to_string(i), "LEAK-a");
  tree_.Write("out.json", "old");
  Interrupt interrupt;
  std::atomic<int> answers{0};
  daemon_.behaviour().before_answer = [&](int, const std::string&) {
    if (++answers == 5) interrupt.Trigger();
    return grpc::Status::OK;
  };
  const ClientRun run = RunWith(
      {"scan", "--server", daemon_.address(), "-o", tree_ / "out.json", "-f", "json", tree_.path()},
      interrupt);
  EXPECT_EQ(run.code, 130);
  EXPECT_THAT(run.err, HasSubstr("INCOMPLETE: interrupted; "));
  EXPECT_EQ(run.out, "");
  EXPECT_EQ(ScratchFolder::Read(tree_ / "out.json"), "old");
}

TEST_F(Trouble, SigintEndsTheProgramWith130) {
  tree_.Write("f", "LEAK-a");
  std::atomic<pid_t> child{0};
  daemon_.behaviour().on_options = [&](int) {
    while (child == 0) std::this_thread::yield();
    kill(child, SIGINT);
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    return grpc::Status::OK;
  };
  // exec at once: nothing else is safe after a fork in a threaded process.
  const std::string program = KEYSIEVE_PROGRAM;
  const std::string address = daemon_.address();
  const std::string path = tree_.path();
  const pid_t pid = vfork();
  if (pid == 0) {
    execl(program.c_str(), "keysieve", "scan", "-q", "--server", address.c_str(), path.c_str(),
          nullptr);
    _exit(127);
  }
  child = pid;
  int status = 0;
  ASSERT_EQ(waitpid(pid, &status, 0), pid);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 130);
}

TEST(NoDaemon, IsAServiceFailureThatSaysWhatToDo) {
  ScratchFolder tree;
  tree.Write("f", "x");
  const ClientRun run =
      RunWith({"scan", "--retries", "1", "--server", "unix:" + (tree / "none"), tree.path()});
  EXPECT_EQ(run.code, 3);
  EXPECT_THAT(run.err, HasSubstr("no daemon answers at unix:" + (tree / "none")));
  EXPECT_THAT(run.err, HasSubstr("start keysieved, or name another with --server"));
}

TEST(Usage, MistakesAreNamedAndExitWith2) {
  ScratchFolder tree;
  const auto expect = [&](std::vector<std::string> args, const std::string& message) {
    const ClientRun run = RunWith(args);
    EXPECT_EQ(run.code, 2) << message;
    EXPECT_THAT(run.err, HasSubstr(message));
  };
  expect({}, "subcommand");
  expect({"scan", "--server", "nowhere"}, "'nowhere' is no server address");
  expect({"scan", tree / "missing"}, "missing': No such file");
  expect({"scan", "--format", "xml"}, "--format");
  expect({"scan", "--exit-code", "300"}, "--exit-code");
  expect({"scan", "--rules", tree / "r.toml"}, "cannot read");
  expect({"scan", "-o", tree / "no/folder/x"}, "cannot write the report");
  expect({"scan", "-o", tree.path()}, "no regular file");
  expect({"match", "."}, "--patterns");
}

TEST(Usage, HelpAndVersionAreNoMistakes) {
  EXPECT_EQ(RunWith({"--version"}).code, 0);
  EXPECT_THAT(RunWith({"--version"}).out, HasSubstr("keysieve 0."));
  const ClientRun help = RunWith({"scan", "--help"});
  EXPECT_EQ(help.code, 0);
  EXPECT_THAT(help.out, HasSubstr("Exit codes: 0 nothing found"));
}

}  // namespace
}  // namespace keysieve::client
