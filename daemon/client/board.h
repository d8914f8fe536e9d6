// SPDX-License-Identifier: MIT
// The blobs of one run and where each stands. Every blob is taken by one stream at a time, comes
// back if its stream breaks, and is settled once: none is lost and none counted twice.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/client/blob_stream.h"
#include "daemon/client/files.h"
#include "evidence/base/mutex.h"
#include "keysieve/v1/scan.pb.h"

namespace keysieve::client {

struct Blob {
  std::string path;
  uint64_t size = 0;                         // bytes, when it was met
  std::shared_ptr<const std::string> bytes;  // instead of a file
  Links links = Links::kRefuse;
};

// All that is known of one blob at the end.
struct BlobReport {
  bool settled = false;
  std::vector<v1::Finding> findings;
  std::vector<v1::LiteralMatch> matches;
  v1::Receipt receipt;  // the client's own gaps among the daemon's
};

// Read by whoever draws a progress bar, at any time.
struct Progress {
  std::atomic<uint64_t> blobs_settled{0};
  std::atomic<uint64_t> bytes_sent{0};  // a retry sends some again
  std::atomic<uint64_t> findings{0};
};

// Any thread may call any member.
class Board {
 public:
  // Borrows both until it is destroyed.
  Board(const std::vector<Blob>& blobs, Progress& progress);

  const Blob& blob(size_t index) const { return blobs_[index]; }
  Progress& progress() { return progress_; }

  // The next blob in order; nothing when none waits or the run was stopped.
  std::optional<size_t> Take();
  void GiveBack(const std::vector<size_t>& indices);
  bool HasWork() const;
  void Settle(size_t index, BlobReport report);

  // The blob's file ended before its declared size, which no stream can take back: it is read into
  // memory before it is sent again, and `gap` stays with it.
  void MarkUnsteady(size_t index, const v1::Omission& gap);
  std::optional<v1::Omission> Unsteady(size_t index) const;

  // The first stream's terms are kept; all streams of a run get the same.
  void Accept(AcceptedStream accepted);
  bool accepted() const;

  // What the daemon recorded of one stream that ended well.
  void AddProfile(v1::Profile profile);

  // Ends the run: nothing more is taken. The first error stays.
  void Fail(const grpc::Status& status);

  // After every stream has ended.
  struct Result {
    std::vector<BlobReport> reports;  // by blob
    std::optional<AcceptedStream> accepted;
    std::vector<v1::Profile> profiles;  // by stream
    grpc::Status error;                 // OK unless Fail() was called
  };
  Result TakeResult();

 private:
  const std::vector<Blob>& blobs_;
  Progress& progress_;
  mutable Mutex mutex_;
  std::deque<size_t> waiting_ ABSL_GUARDED_BY(mutex_);
  Result result_ ABSL_GUARDED_BY(mutex_);
  std::map<size_t, v1::Omission> unsteady_ ABSL_GUARDED_BY(mutex_);
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace keysieve::client
