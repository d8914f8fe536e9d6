// SPDX-License-Identifier: MIT
// One open stream of the daemon, Scan or Match, seen alike: options, then chunks, and answers by
// blob. Whoever moves blobs needs no other difference between the two services.
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/support/status.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "keysieve/v1/scan.pb.h"

namespace keysieve::client {

struct AcceptedStream {
  v1::Limits limits;
  std::string scan_id;
  std::string rule_set;
  std::string rule_digest;  // of the rules, or of the pattern table
  std::string daemon_version;
  std::vector<v1::Pattern> patterns;  // Match with a named rule set
  std::vector<std::string> warnings;  // what of the options the daemon could not use
};

struct BlobAnswer {
  uint64_t blob_id = 0;
  bool last = true;  // false: more of this blob's matches follow
  std::vector<v1::Finding> findings;
  std::vector<v1::LiteralMatch> matches;
  v1::Receipt receipt;  // of the last answer
};

// At most one of them is set; none for replies that need no action.
struct StreamReply {
  bool garbled = false;  // not the message it should be; what follows may be well
  std::optional<AcceptedStream> accepted;
  std::optional<BlobAnswer> blob;
  std::optional<v1::Summary> summary;
};

// One thread writes, another one reads; Cancel() is anyone's.
class BlobStream {
 public:
  virtual ~BlobStream() = default;
  virtual bool WriteOptions() = 0;
  // The batch being filled. Writer only.
  virtual v1::ChunkBatch& batch() = 0;
  // Sends the batch and empties it. False: the stream is broken, Finish() says why.
  virtual bool WriteBatch() = 0;
  virtual void WritesDone() = 0;
  // Blocks. False: no reply will follow.
  virtual bool Read(StreamReply* reply) = 0;
  // After both threads are done.
  virtual grpc::Status Finish() = 0;
  virtual void Cancel() = 0;
};

using Deadline = std::optional<std::chrono::system_clock::time_point>;

// What is asked of the daemon; opens as many streams as are wanted. Immutable, any thread.
class BlobService {
 public:
  virtual ~BlobService() = default;
  virtual std::unique_ptr<BlobStream> Open(std::shared_ptr<grpc::Channel> channel,
                                           Deadline deadline) const = 0;
};

std::unique_ptr<BlobService> MakeScanService(v1::ScanOptions options);
std::unique_ptr<BlobService> MakeMatchService(v1::MatchOptions options);

}  // namespace keysieve::client
