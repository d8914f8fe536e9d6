// SPDX-License-Identifier: MIT
// A thread a connection. A stream that breaks gives its unsettled blobs back, and any connection
// may take them; a fresh channel is made for each attempt, since a broken one waits out its own
// back-off.
#include "daemon/client/transfer.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <thread>
#include <utility>

#include "daemon/client/stream_run.h"

namespace keysieve::client {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLongestDelay{5000};
constexpr milliseconds kLongestAskedDelay{30000};

// What the workers of a run share.
struct Crew {
  const BlobService& service;
  const TransferOptions& options;
  Board& board;
  Interrupt& interrupt;
  std::atomic<int> streams{0};  // under way
  std::atomic<bool> timed_out{false};
};

class Worker {
 public:
  explicit Worker(Crew& crew)
      : crew_(crew), options_(crew.options), board_(crew.board), interrupt_(crew.interrupt) {}

  // `insist`: open one stream even if there is nothing to send.
  void Run(bool insist) {
    while (board_.HasWork() || (insist && !board_.accepted())) {
      const grpc::Status status = RunStream();
      if (interrupt_.triggered()) return;
      if (!status.ok() && !WaitToRetry(status)) return;
    }
  }

 private:
  grpc::Status RunStream() {
    const auto stream = crew_.service.Open(Connect(options_.server), options_.deadline);
    const auto cancel = interrupt_.OnTrigger([&] { stream->Cancel(); });
    StreamRun run(*stream, board_);
    ++crew_.streams;
    const grpc::Status status = run.Run();
    board_.GiveBack(run.Unsettled());
    --crew_.streams;
    return run.wants_restart() ? grpc::Status::OK : status;
  }

  bool DeadlinePassed() const {
    return options_.deadline && std::chrono::system_clock::now() >= *options_.deadline;
  }

  // False: this worker is done, with the reason on the board.
  bool WaitToRetry(const grpc::Status& status) {
    if (DeadlinePassed()) {
      crew_.timed_out = true;
      return false;
    }
    const uint64_t settled = board_.progress().blobs_settled.load(std::memory_order_relaxed);
    if (settled > settled_before_) failures_ = 0;
    settled_before_ = settled;
    const std::optional<milliseconds> delay = DelayFor(status);
    const bool too_often = delay && ++failures_ > options_.retries;
    // A daemon that takes fewer streams than were asked for is no failure while others work.
    if (too_often && crew_.streams > 0) return false;
    if (!delay || too_often) {
      board_.Fail(status);
      return false;
    }
    return !interrupt_.WaitFor(*delay);
  }

  std::optional<milliseconds> DelayFor(const grpc::Status& status) const {
    const milliseconds own =
        std::min(kLongestDelay, options_.first_delay * (1 << std::min(failures_, 10)));
    if (status.error_code() == grpc::StatusCode::UNAVAILABLE) {
      return std::max(own, std::min(kLongestAskedDelay, RetryDelay(status).value_or(own)));
    }
    if (status.error_code() != grpc::StatusCode::RESOURCE_EXHAUSTED) return std::nullopt;
    const auto asked = RetryDelay(status);
    if (!asked) return std::nullopt;  // a message was too large: it will be so again
    return std::max(own, std::min(kLongestAskedDelay, *asked));
  }

  Crew& crew_;
  const TransferOptions& options_;
  Board& board_;
  Interrupt& interrupt_;
  int failures_ = 0;
  uint64_t settled_before_ = 0;
};

}  // namespace

TransferResult Transfer(const BlobService& service, const std::vector<Blob>& blobs,
                        const TransferOptions& options, Progress& progress, Interrupt& interrupt) {
  Board board(blobs, progress);
  std::atomic<bool> timed_out{false};
  Crew crew{service, options, board, interrupt};
  std::vector<std::thread> threads;
  for (int i = 1; i < options.connections; ++i) {
    threads.emplace_back([&] { Worker(crew).Run(false); });
  }
  Worker(crew).Run(true);
  for (std::thread& thread : threads) thread.join();
  // A worker may have left its blobs to another one that was just leaving too.
  if (!crew.timed_out && !interrupt.triggered()) Worker(crew).Run(false);

  Board::Result result = board.TakeResult();
  TransferResult out{std::move(result.reports), std::move(result.accepted), result.error,
                     crew.timed_out.load(), interrupt.triggered()};
  out.profiles = std::move(result.profiles);
  const auto settled = [](const BlobReport& report) { return report.settled; };
  const bool all = std::all_of(out.reports.begin(), out.reports.end(), settled);
  if (all) out.timed_out = false;
  return out;
}

}  // namespace keysieve::client
