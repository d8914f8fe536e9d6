// SPDX-License-Identifier: MIT
// Small files share a message and large ones get one chunk a message: both fill about 1 MiB, where
// the transport is fastest.
#include "daemon/client/stream_run.h"

#include <algorithm>
#include <iterator>
#include <thread>
#include <utility>

#include "daemon/client/walk.h"
#include "evidence/base/status.h"

namespace keysieve::client {
namespace {

using v1::Omission;

constexpr uint64_t kChunkBytes = 1 << 20;
constexpr uint64_t kMessageBytes = 4 << 20;
constexpr uint64_t kSpoolBytes = 1 << 30;     // of one file; the daemon's own limit is far below
constexpr uint64_t kChunkOverheadBytes = 64;  // field tags, numbers and lengths, rounded up

uint64_t SmallerUnlessZero(uint64_t ours, uint64_t theirs) {
  return theirs == 0 ? ours : std::min(ours, theirs);
}

}  // namespace

grpc::Status StreamRun::Run() {
  std::thread reader([this] { ReadReplies(); });
  if (stream_.WriteOptions() && AwaitAccepted()) WriteBlobs();
  stream_.WritesDone();
  reader.join();
  const grpc::Status status = stream_.Finish();
  MutexLock lock(mutex_);
  if (!violation_.ok()) return violation_;
  if (status.ok() && !accepted_) {
    return grpc::Status(grpc::StatusCode::INTERNAL, "the stream ended before it was accepted");
  }
  if (status.ok() && !flights_.empty()) {
    return grpc::Status(grpc::StatusCode::INTERNAL,
                        Cat("the stream ended with ", flights_.size(), " blobs unanswered"));
  }
  return status;
}

std::vector<size_t> StreamRun::Unsettled() const {
  MutexLock lock(mutex_);
  std::vector<size_t> indices;
  for (const auto& [index, flight] : flights_) indices.push_back(index);
  return indices;
}

void StreamRun::ReadReplies() {
  StreamReply reply;
  while (stream_.Read(&reply)) {
    if (reply.garbled) {
      MutexLock lock(mutex_);
      Break("a reply is no valid message; are daemon and client of the same age?");
    } else if (reply.accepted) {
      board_.Accept(*reply.accepted);
      MutexLock lock(mutex_);
      limits_ = reply.accepted->limits;
      accepted_ = true;
      changed_.NotifyAll();
    } else if (reply.blob) {
      OnBlob(*std::move(reply.blob));
    } else if (reply.summary && reply.summary->has_profile()) {
      board_.AddProfile(std::move(*reply.summary->mutable_profile()));
    }
  }
  MutexLock lock(mutex_);
  ended_ = true;
  changed_.NotifyAll();
}

void StreamRun::OnBlob(BlobAnswer answer) {
  const size_t index = answer.blob_id;
  {
    MutexLock lock(mutex_);
    const auto found = flights_.find(index);
    if (found == flights_.end() || found->second.answered) {
      return Break(Cat("blob ", answer.blob_id, " was answered and is not under way"));
    }
    Flight& flight = found->second;
    flight.report.findings = std::move(answer.findings);
    auto& matches = flight.report.matches;
    matches.insert(matches.end(), std::make_move_iterator(answer.matches.begin()),
                   std::make_move_iterator(answer.matches.end()));
    if (!answer.last) return;
    flight.report.receipt = std::move(answer.receipt);
    flight.answered = true;
  }
  SettleIfDone(index);
}

void StreamRun::Break(const std::string& what) {
  if (violation_.ok()) violation_ = grpc::Status(grpc::StatusCode::INTERNAL, what);
  stream_.Cancel();
}

bool StreamRun::AwaitAccepted() {
  MutexLock lock(mutex_);
  while (!accepted_ && !ended_) changed_.Wait(mutex_);
  return accepted_ && !ended_;
}

void StreamRun::WriteBlobs() {
  while (const auto index = board_.Take()) {
    if (!SendBlob(*index)) return;
  }
  Flush();
}

BlobReader StreamRun::OpenBlob(size_t index) const {
  const Blob& blob = board_.blob(index);
  if (blob.bytes) return BlobReader::OfBytes(blob.bytes);
  if (!board_.Unsteady(index)) return BlobReader::OfFile(blob.path, blob.links);
  return BlobReader::OfSpooledFile(blob.path, blob.links,
                                   SmallerUnlessZero(kSpoolBytes, limits_.blob_bytes()));
}

bool StreamRun::SendBlob(size_t index) {
  BlobReader reader = OpenBlob(index);
  if (const auto refusal = Refusal(index, reader)) {
    SettleUnsent(index, *refusal);
    return true;
  }
  {
    MutexLock lock(mutex_);
    flights_[index];
    if (ended_) return false;
  }
  if (!SendChunks(index, reader)) return false;
  {
    MutexLock lock(mutex_);
    Flight& flight = flights_[index];
    flight.sent = true;
    flight.bytes_sent = reader.offset();
    flight.gap = reader.gap() ? reader.gap() : board_.Unsteady(index);
  }
  SettleIfDone(index);
  return true;
}

// Why the blob's bytes are not sent at all.
std::optional<Omission> StreamRun::Refusal(size_t index, const BlobReader& reader) const {
  if (reader.gap()) return reader.gap();
  const std::string& path = board_.blob(index).path;
  if (limits_.path_bytes() != 0 && path.size() > limits_.path_bytes()) {
    return MakeOmission(Omission::READ_ERROR, 0, reader.size(),
                        Cat("its path has ", path.size(), " bytes and the daemon's limit is ",
                            limits_.path_bytes()));
  }
  if (limits_.blob_bytes() != 0 && reader.size() > limits_.blob_bytes()) {
    return MakeOmission(
        Omission::BLOB_LIMIT, 0, reader.size(),
        Cat("it has ", reader.size(), " bytes and the daemon's limit is ", limits_.blob_bytes()));
  }
  return std::nullopt;
}

bool StreamRun::SendChunks(size_t index, BlobReader& reader) {
  const uint64_t message_bytes = SmallerUnlessZero(kMessageBytes, limits_.message_bytes());
  const uint64_t chunk_bytes =
      std::min(SmallerUnlessZero(kChunkBytes, limits_.chunk_bytes()), message_bytes / 2);
  const std::string& path = board_.blob(index).path;
  for (bool more = true, first = true; more; first = false) {
    const uint64_t next = std::min(chunk_bytes, reader.size() - reader.offset());
    if (batch_bytes_ + next + path.size() + kChunkOverheadBytes > message_bytes && !Flush()) {
      return false;
    }
    v1::Chunk& chunk = *stream_.batch().add_chunks();
    chunk.set_blob_id(index);
    chunk.set_offset(reader.offset());
    more = reader.Read(chunk_bytes, chunk.mutable_data());
    chunk.set_last(!more);
    if (!first && reader.offset() < reader.size() && !more) {
      board_.MarkUnsteady(index, *reader.gap());
      wants_restart_ = true;
      stream_.Cancel();
      return false;
    }
    if (first) {
      chunk.set_path(path);
      // A blob of one chunk declares what was read; a file may have shrunk since it was opened.
      chunk.set_declared_size(more ? reader.size() : chunk.data().size());
    }
    batch_bytes_ += chunk.data().size() + (first ? path.size() : 0) + kChunkOverheadBytes;
    if (batch_bytes_ >= std::min(kChunkBytes, chunk_bytes) && !Flush()) return false;
  }
  return true;
}

bool StreamRun::Flush() {
  if (stream_.batch().chunks_size() == 0) return true;
  board_.progress().bytes_sent.fetch_add(batch_bytes_, std::memory_order_relaxed);
  batch_bytes_ = 0;
  return stream_.WriteBatch();
}

void StreamRun::SettleUnsent(size_t index, const Omission& gap) {
  BlobReport report;
  *report.receipt.add_gaps() = gap;
  board_.Settle(index, std::move(report));
}

void StreamRun::SettleIfDone(size_t index) {
  BlobReport report;
  {
    MutexLock lock(mutex_);
    const auto found = flights_.find(index);
    if (found == flights_.end() || !found->second.sent || !found->second.answered) return;
    Flight& flight = found->second;
    report = std::move(flight.report);
    v1::Receipt& receipt = report.receipt;
    const bool explained = receipt.gaps_size() > 0 || receipt.exclusions_size() > 0;
    if (receipt.scanned_bytes() < flight.bytes_sent && !explained) {
      // Bytes nobody accounts for are a gap, whatever the daemon says.
      *receipt.add_gaps() =
          MakeOmission(Omission::TRUNCATED, receipt.scanned_bytes(), flight.bytes_sent,
                       Cat("the daemon scanned ", receipt.scanned_bytes(), " of ",
                           flight.bytes_sent, " bytes and gave no reason"));
    }
    if (flight.gap) *receipt.add_gaps() = *flight.gap;
    flights_.erase(found);
  }
  board_.Settle(index, std::move(report));
}

}  // namespace keysieve::client
