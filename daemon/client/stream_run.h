// SPDX-License-Identifier: MIT
// The life of one stream: it takes blobs from the board, sends their bytes in batches while a
// thread of its own reads the answers, and settles what was answered. What it leaves unsettled is
// its caller's to give back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "daemon/client/blob_stream.h"
#include "daemon/client/board.h"
#include "daemon/client/files.h"
#include "evidence/base/mutex.h"

namespace keysieve::client {

class StreamRun {
 public:
  // Borrows both.
  StreamRun(BlobStream& stream, Board& board) : stream_(stream), board_(board) {}

  // Runs until the board has nothing more and every blob is answered, or the stream breaks.
  // INTERNAL when the daemon broke its own protocol. Once.
  grpc::Status Run();

  // After Run(): the stream was given up because a file changed; another one will do, at once.
  bool wants_restart() const { return wants_restart_; }

  // After Run(): the blobs that were taken and not settled, in order.
  std::vector<size_t> Unsettled() const;

 private:
  // A blob between its first chunk and its settling. It is settled when all is sent and answered,
  // whichever comes last: the daemon may answer early.
  struct Flight {
    BlobReport report;
    uint64_t bytes_sent = 0;
    bool sent = false;
    bool answered = false;
    std::optional<v1::Omission> gap;  // found while reading the file
  };

  void ReadReplies();
  void OnBlob(BlobAnswer answer);
  void Break(const std::string& what) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  BlobReader OpenBlob(size_t index) const;
  bool AwaitAccepted();
  void WriteBlobs();
  bool SendBlob(size_t index);
  bool SendChunks(size_t index, BlobReader& reader);
  bool Flush();
  std::optional<v1::Omission> Refusal(size_t index, const BlobReader& reader) const;
  void SettleUnsent(size_t index, const v1::Omission& gap);
  void SettleIfDone(size_t index);

  BlobStream& stream_;
  Board& board_;
  v1::Limits limits_;           // written before accepted_, read after
  uint64_t batch_bytes_ = 0;    // writer only
  bool wants_restart_ = false;  // writer only

  mutable Mutex mutex_;
  CondVar changed_;
  bool accepted_ ABSL_GUARDED_BY(mutex_) = false;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  grpc::Status violation_ ABSL_GUARDED_BY(mutex_);
  std::map<size_t, Flight> flights_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace keysieve::client
