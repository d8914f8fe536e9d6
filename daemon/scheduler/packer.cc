// SPDX-License-Identifier: MIT
// Fair shares and cuts; see packer.h.
#include "daemon/scheduler/packer.h"

#include <algorithm>

namespace keysieve::scheduler {
namespace {

constexpr uint64_t kMinShare = 64 << 10;  // below this, turns cost more than they give
constexpr uint64_t kMinCut = 4 << 10;     // a cut leaves no crumbs
constexpr uint64_t kAlign = 64;           // what a session may lose between two texts

}  // namespace

std::vector<evidence::ContextId> PackedBatch::ProfiledScans() const {
  std::vector<evidence::ContextId> scans;
  for (const CutPiece& piece : pieces) {
    const evidence::ContextId id = piece.job->job.profile;
    if (id == evidence::ContextId::kProcess) continue;
    if (std::find(scans.begin(), scans.end(), id) == scans.end()) scans.push_back(id);
  }
  return scans;
}

void PackedBatch::Charge(uint64_t device_ns) const {
  uint64_t bytes = 0;
  for (const CutPiece& piece : pieces) bytes += piece.owned_bytes;
  if (device_ns == 0 || bytes == 0) return;
  uint64_t done = 0;
  uint64_t charged = 0;
  for (const CutPiece& piece : pieces) {
    done += piece.owned_bytes;
    // In floating point: the product of both may exceed 64 bits. The last part takes the rest.
    const auto upto = done == bytes ? device_ns
                                    : static_cast<uint64_t>(static_cast<double>(device_ns) *
                                                            static_cast<double>(done) /
                                                            static_cast<double>(bytes));
    piece.job->device_ns += upto - charged;
    charged = upto;
  }
}

void Packer::Add(std::shared_ptr<ActiveJob> job) {
  const uint64_t request = job->job.request;
  Queue& queue = queues_[request];
  if (queue.empty()) turn_.push_back(request);
  queue.push_back(std::move(job));
  ++jobs_;
}

PackedBatch Packer::Pack(uint64_t max_bytes, uint32_t max_pieces) {
  PackedBatch batch;
  if (turn_.empty()) return batch;
  batch.table = queues_[turn_.front()].front()->job.table;
  uint64_t used = 0;
  // Rounds: everyone with this table gets a share; what is left over is shared again.
  for (bool progress = true; progress && used < max_bytes && batch.pieces.size() < max_pieces;) {
    progress = false;
    std::vector<uint64_t> takers;
    for (const uint64_t request : turn_) {
      if (queues_[request].front()->job.table == batch.table) takers.push_back(request);
    }
    if (takers.empty()) break;
    const uint64_t share = std::max((max_bytes - used) / takers.size(), kMinShare);
    for (const uint64_t request : takers) {
      Queue& queue = queues_[request];
      const size_t before = batch.pieces.size();
      TakeFrom(queue, share, max_bytes, max_pieces, used, batch);
      progress = progress || batch.pieces.size() > before;
      turn_.erase(std::find(turn_.begin(), turn_.end(), request));
      if (queue.empty()) {
        queues_.erase(request);
      } else {
        turn_.push_back(request);
      }
      if (used >= max_bytes || batch.pieces.size() >= max_pieces) break;
    }
  }
  return batch;
}

void Packer::TakeFrom(Queue& queue, uint64_t share, uint64_t max_bytes, uint32_t max_pieces,
                      uint64_t& used, PackedBatch& batch) {
  const uint64_t margin =
      batch.table->max_literal_bytes > 0 ? batch.table->max_literal_bytes - 1 : 0;
  uint64_t taken = 0;
  while (!queue.empty() && taken < share && batch.pieces.size() < max_pieces) {
    const std::shared_ptr<ActiveJob>& job = queue.front();
    if (job->left) {
      queue.pop_front();
      --jobs_;
      continue;
    }
    if (job->job.table != batch.table) return;
    const uint64_t size = job->job.bytes.size();
    const uint64_t left = size - job->cut;
    const uint64_t room = max_bytes > used ? max_bytes - used : 0;
    uint64_t owned = left;
    if (left > room || (left > share - taken && left > share)) {
      // It is cut. The first piece of an empty batch always makes progress.
      const uint64_t limit =
          std::min(room > margin ? room - margin : 0, std::max(share - taken, kMinCut));
      if (limit < kMinCut && !batch.pieces.empty()) return;
      owned = std::min(left, std::max<uint64_t>(limit, 1));
      // A small blob that merely came too late stays whole and opens the next batch.
      if (!batch.pieces.empty() && left > room && left <= max_bytes / 4) return;
    }
    const uint64_t text = std::min(owned + margin, left);
    batch.pieces.push_back(
        {job, job->cut, static_cast<uint32_t>(owned), static_cast<uint32_t>(text)});
    job->cut += owned;
    ++job->pieces_out;
    taken += owned;
    used += (text + kAlign - 1) / kAlign * kAlign;
    if (job->whole()) {
      queue.pop_front();
      --jobs_;
    }
  }
}

std::vector<std::shared_ptr<ActiveJob>> Packer::TakeCancelled() {
  std::vector<std::shared_ptr<ActiveJob>> taken;
  std::erase_if(turn_, [&](uint64_t request) {
    const auto queue = queues_.find(request);
    if (!queue->second.front()->cancelled()) return false;
    jobs_ -= queue->second.size();
    for (auto& job : queue->second) {
      if (!job->left) taken.push_back(std::move(job));
    }
    queues_.erase(queue);
    return true;
  });
  return taken;
}

std::vector<std::shared_ptr<ActiveJob>> Packer::Clear() {
  std::vector<std::shared_ptr<ActiveJob>> all;
  for (auto& [request, queue] : queues_) {
    for (auto& job : queue) all.push_back(std::move(job));
  }
  queues_.clear();
  turn_.clear();
  jobs_ = 0;
  return all;
}

}  // namespace keysieve::scheduler
