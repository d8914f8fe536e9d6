// SPDX-License-Identifier: MIT
// A program that traps and one that never ends, on a real device, launched and resident: the
// session says so and ends, everything pending may be scanned elsewhere, and no later call touches
// the device. A lost device is lost to its process, so each case runs in a process of its own.
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "backends/registry.h"
#include "evidence/base/status.h"
#include "megakernel/geometry.h"
#include "megakernel/images/images.h"
#include "megakernel/session/epoch_session.h"
#include "tests/megakernel/forwarding_device.h"
#include "tests/megakernel/naive_matcher.h"

extern "C" const std::byte kill_cuda_begin[];
extern "C" const std::byte kill_cuda_end[];

namespace keysieve::megakernel {
namespace {

using namespace std::chrono_literals;
using backends::BackendKind;
using backends::Clock;

constexpr int kAbsent = 77;

// Counts what is asked of the device after it was given up.
class WatchedDevice final : public test::ForwardingDevice {
 public:
  using ForwardingDevice::ForwardingDevice;
  absl::StatusOr<std::unique_ptr<backends::Buffer>> Allocate(backends::MemoryKind kind,
                                                             uint64_t bytes) override {
    Count();
    return ForwardingDevice::Allocate(kind, bytes);
  }
  absl::StatusOr<backends::Ticket> Submit(const backends::Submission& submission) override {
    Count();
    return ForwardingDevice::Submit(submission);
  }
  bool Done(backends::Ticket ticket) override {
    Count();
    return ForwardingDevice::Done(ticket);
  }
  absl::StatusOr<backends::StageTimes> Wait(backends::Ticket ticket,
                                            Clock::time_point deadline) override {
    Count();
    return ForwardingDevice::Wait(ticket, deadline);
  }
  absl::StatusOr<backends::Ticket> StartResident(const backends::Launch& launch) override {
    Count();
    return ForwardingDevice::StartResident(launch);
  }
  absl::StatusOr<backends::Ticket> CopyThenWriteWord(std::span<const backends::Copy> uploads,
                                                     backends::BufferRange word,
                                                     uint32_t value) override {
    Count();
    return ForwardingDevice::CopyThenWriteWord(uploads, word, value);
  }
  void Abandon() override {
    abandoned_ = true;
    ForwardingDevice::Abandon();
  }
  uint32_t late_calls() const { return late_calls_; }

 private:
  void Count() { late_calls_ += abandoned_ ? 1 : 0; }
  bool abandoned_ = false;
  uint32_t late_calls_ = 0;
};

Piece PieceOf(const std::string& text) {
  Piece piece;
  piece.text = {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
  piece.owned_end = static_cast<uint32_t>(text.size());
  return piece;
}

struct Case {
  bool hang = false;
  bool resident = false;
};

SessionImages Broken(const backends::Device& device, bool resident) {
  SessionImages images;
  const std::span<const std::byte> code{kill_cuda_begin,
                                        static_cast<size_t>(kill_cuda_end - kill_cuda_begin)};
  images.scan = *TunedImage(BackendKind::kCuda, 256, device.limits());
  images.scan.code = code;
  if (resident) {
    images.resident = *ResidentImage(BackendKind::kCuda, device.limits());
    images.resident->code = code;
  }
  return images;
}

// In the child. 0: as it should be; otherwise what was not is on stderr.
int Break(const Case& test) {
  const backends::ProbeResult probe = backends::ProbeAdapters(BackendKind::kCuda);
  if (probe.adapters.empty()) return kAbsent;
  auto opened = backends::OpenDevice(probe.adapters[0], {});
  if (!opened.ok()) return kAbsent;
  WatchedDevice device(**opened);
  const SessionOptions options{.watchdog = 3s};
  const Layout layout = *LayOut(options.geometry, device.limits(), device.identity());
  EpochSession session(device, options, layout, Broken(device, test.resident));
  const absl::Status started = session.Start();
  const auto fails = [](const std::string& what) {
    std::fprintf(stderr, "%s\n", what.c_str());
    return 1;
  };
  if (!started.ok()) return fails(Message(started));
  const std::vector<Literal> literals = {{"key"}, {"token", true}};
  const TableHandle table = *session.LoadTable(*CompileTable(literals));
  const std::string fine = "the key, a Token and a key";
  const std::string order = test.hang ? "HANG" : "TRAP";
  const std::vector<std::string> texts = {fine, order + " " + fine, fine};
  for (const std::string& text : texts) {
    const Piece piece = PieceOf(text);
    if (!session.Submit({.table = table, .pieces = std::span(&piece, 1)}).ok()) {
      return fails("a batch was refused");
    }
    if (text == fine && &text == &texts[0]) {  // a batch before the break is answered
      const auto result = session.Next(Clock::now() + 10s);
      if (!result.ok()) return fails(Message(result.status()));
      if (result->hits[0] != test::NaiveMatches(literals, piece.text)) return fails("wrong hits");
    }
  }
  (void)session.Flush();
  const auto begun = Clock::now();
  const auto broken = session.Next(begun + 30s);
  const auto took = std::chrono::duration<double>(Clock::now() - begun).count();
  std::fprintf(stderr, "after %.2f s: %s\n", took, Message(broken.status()).c_str());
  const auto want = test.hang ? absl::StatusCode::kDeadlineExceeded : absl::StatusCode::kDataLoss;
  if (broken.status().code() != want) return fails("another status was due");
  if (!session.ended() || session.batches_in_flight() != 0) return fails("the session goes on");
  if (session.Next(Clock::now() + 1s).status().code() != want) return fails("another status later");
  const Piece again = PieceOf(fine);
  if (session.Submit({.table = table, .pieces = std::span(&again, 1)}).ok()) {
    return fails("a batch was taken after the end");
  }
  (void)session.Shutdown(Clock::now() + 1s);
  if (device.late_calls() != 0) return fails("the device was called after it was given up");
  return 0;
}

const char* const kCases[] = {"trap_launched", "hang_launched", "trap_resident", "hang_resident"};

class Kill : public testing::TestWithParam<const char*> {};

TEST_P(Kill, EndsTheSessionAndLeavesTheDeviceAlone) {
  std::string program = "/proc/self/exe", flag = std::string("--break=") + GetParam();
  char* arguments[] = {program.data(), flag.data(), nullptr};
  pid_t child = 0;
  ASSERT_EQ(posix_spawn(&child, program.c_str(), nullptr, nullptr, arguments, environ), 0);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  if (WEXITSTATUS(status) == kAbsent) GTEST_SKIP() << "no CUDA device here";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

INSTANTIATE_TEST_SUITE_P(Every, Kill, testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace

int RunChild(const std::string& name) {
  return Break({.hang = name.starts_with("hang"), .resident = name.ends_with("resident")});
}

}  // namespace keysieve::megakernel

int main(int argc, char** argv) {
  const std::string first = argc > 1 ? argv[1] : "";
  const std::string flag = "--break=";
  // A broken device's library must not be unloaded: the child leaves at once.
  if (first.starts_with(flag)) _exit(keysieve::megakernel::RunChild(first.substr(flag.size())));
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
