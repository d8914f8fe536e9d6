// SPDX-License-Identifier: MIT
#include "megakernel/images/cpu_matcher.h"

#include <system_error>
#include <utility>

#include "evidence/base/status.h"
#include "megakernel/images/embedded.h"

namespace keysieve::megakernel {

CpuMatcher::~CpuMatcher() {
  std::thread worker;
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    ordered_.NotifyAll();
    worker = std::move(worker_);
  }
  if (worker.joinable()) worker.join();
}

void CpuMatcher::Loaded(uint32_t generation, const Table& table) {
  auto copy = std::make_shared<const Table>(table);
  if (!at_once_) {
    MutexLock lock(mutex_);
    entries_[generation].table = std::move(copy);
    return;
  }
  const auto made = CpuDatabase::Compile(*copy);
  MutexLock lock(mutex_);
  entries_[generation].ordered = true;
  Settle(generation, made);
}

void CpuMatcher::Evicted(uint32_t generation) {
  MutexLock lock(mutex_);
  entries_.erase(generation);  // a scan that uses the database holds it
}

std::vector<std::string> CpuMatcher::TakeMessages() {
  MutexLock lock(mutex_);
  return std::exchange(messages_, {});
}

std::shared_ptr<const CpuDatabase> CpuMatcher::Find(uint32_t generation, uint64_t bytes) {
  MutexLock lock(mutex_);
  const auto found = entries_.find(generation);
  if (found == entries_.end()) return nullptr;
  Entry& entry = found->second;
  entry.scanned += bytes;
  if (!entry.ordered && entry.scanned >= kBytesPerLiteral * entry.table->literal_count) {
    Order(generation, entry);
  }
  return entry.database;
}

void CpuMatcher::Order(uint32_t generation, Entry& entry) {
  entry.ordered = true;
  if (!worker_.joinable()) {
    try {
      worker_ = std::thread([this] { Work(); });
    } catch (const std::system_error& error) {  // the standard library's word for "no thread left"
      messages_.push_back(Cat(
          "the cpu route goes on without Vectorscan: no thread to compile with: ", error.what()));
      entry.table.reset();
      return;
    }
  }
  orders_.push_back(generation);
  ordered_.NotifyOne();
}

void CpuMatcher::Settle(uint32_t generation,
                        const absl::StatusOr<std::shared_ptr<const CpuDatabase>>& made) {
  const auto found = entries_.find(generation);
  if (found == entries_.end()) return;  // evicted meanwhile
  found->second.table.reset();
  if (made.ok()) {
    found->second.database = *made;
    return;
  }
  messages_.push_back(Cat("table generation ", generation,
                          " is matched without Vectorscan: ", Message(made.status())));
}

void CpuMatcher::Work() {
  while (true) {
    uint32_t generation = 0;
    std::shared_ptr<const Table> table;
    {
      MutexLock lock(mutex_);
      while (orders_.empty() && !stopping_) ordered_.Wait(mutex_);
      if (stopping_) return;
      generation = orders_.front();
      orders_.pop_front();
      const auto found = entries_.find(generation);
      if (found != entries_.end()) table = found->second.table;
    }
    if (table == nullptr) continue;
    const auto made = CpuDatabase::Compile(*table);
    MutexLock lock(mutex_);
    Settle(generation, made);
  }
}

std::shared_ptr<TableFollower> FollowTables(backends::Image& image, bool at_once) {
  if (image.backend != backends::BackendKind::kCpu) return nullptr;
  auto matcher = std::make_shared<CpuMatcher>(at_once);
  image.host_state = matcher;
  return matcher;
}

}  // namespace keysieve::megakernel
