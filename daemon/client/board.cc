// SPDX-License-Identifier: MIT
// Blobs that come back go to the front: they are the oldest, and reports keep their order anyway.
#include "daemon/client/board.h"

#include <utility>

namespace keysieve::client {

Board::Board(const std::vector<Blob>& blobs, Progress& progress)
    : blobs_(blobs), progress_(progress) {
  MutexLock lock(mutex_);
  for (size_t i = 0; i < blobs.size(); ++i) waiting_.push_back(i);
  result_.reports.resize(blobs.size());
}

std::optional<size_t> Board::Take() {
  MutexLock lock(mutex_);
  if (stopped_ || waiting_.empty()) return std::nullopt;
  const size_t index = waiting_.front();
  waiting_.pop_front();
  return index;
}

void Board::GiveBack(const std::vector<size_t>& indices) {
  MutexLock lock(mutex_);
  waiting_.insert(waiting_.begin(), indices.begin(), indices.end());
}

bool Board::HasWork() const {
  MutexLock lock(mutex_);
  return !stopped_ && !waiting_.empty();
}

void Board::Settle(size_t index, BlobReport report) {
  report.settled = true;
  progress_.blobs_settled.fetch_add(1, std::memory_order_relaxed);
  progress_.findings.fetch_add(report.findings.size() + report.matches.size(),
                               std::memory_order_relaxed);
  MutexLock lock(mutex_);
  result_.reports[index] = std::move(report);
}

void Board::MarkUnsteady(size_t index, const v1::Omission& gap) {
  MutexLock lock(mutex_);
  unsteady_.emplace(index, gap);
}

std::optional<v1::Omission> Board::Unsteady(size_t index) const {
  MutexLock lock(mutex_);
  const auto found = unsteady_.find(index);
  return found == unsteady_.end() ? std::nullopt : std::optional(found->second);
}

void Board::Accept(AcceptedStream accepted) {
  MutexLock lock(mutex_);
  if (!result_.accepted) result_.accepted = std::move(accepted);
}

bool Board::accepted() const {
  MutexLock lock(mutex_);
  return result_.accepted.has_value();
}

void Board::AddProfile(v1::Profile profile) {
  MutexLock lock(mutex_);
  result_.profiles.push_back(std::move(profile));
}

void Board::Fail(const grpc::Status& status) {
  MutexLock lock(mutex_);
  stopped_ = true;
  if (result_.error.ok()) result_.error = status;
}

Board::Result Board::TakeResult() {
  MutexLock lock(mutex_);
  return std::move(result_);
}

}  // namespace keysieve::client
