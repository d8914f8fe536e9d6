// SPDX-License-Identifier: MIT
#include "megakernel/session/table_arena.h"

#include "evidence/base/status.h"
#include "megakernel/table_layout.inl"

namespace keysieve::megakernel {
namespace {

constexpr uint32_t kExtentWords = 64;  // extents are multiples of 256 bytes

uint32_t RoundUp(uint32_t words) {
  return (words + kExtentWords - 1) / kExtentWords * kExtentWords;
}

std::vector<uint8_t> LengthsOf(const Table& table) {
  std::vector<uint8_t> lengths(table.literal_count);
  const size_t records = table.words[KS_TABLE_RECORDS_AT];
  for (size_t i = 0; i < lengths.size(); ++i) {
    lengths[i] = table.words[records + i * KS_RECORD_WORDS + 1] & KS_RECORD_LENGTH_MASK;
  }
  return lengths;
}

}  // namespace

TableArena::TableArena(uint32_t words) : words_(words / kExtentWords * kExtentWords) {
  free_[0] = words_;
}

uint32_t TableArena::free_words() const {
  uint32_t total = 0;
  for (const auto& [at, words] : free_) total += words;
  return total;
}

absl::StatusOr<uint32_t> TableArena::ClaimExtent(uint32_t words) {
  for (auto it = free_.begin(); it != free_.end(); ++it) {
    const auto [at, size] = *it;
    if (size < words) continue;
    free_.erase(it);
    if (size > words) free_[at + words] = size - words;
    return at;
  }
  return absl::ResourceExhaustedError(
      Cat("a table of ", uint64_t{words} * 4,
          " bytes does not fit the arena: ", uint64_t{free_words()} * 4, " of ",
          uint64_t{words_} * 4, " bytes are free; evict a table or raise table_bytes"));
}

absl::StatusOr<TableHandle> TableArena::Claim(const Table& table) {
  uint32_t id = 0;
  while (id < tables_.size() && tables_[id].generation != 0) ++id;
  if (id == tables_.size()) {
    return absl::ResourceExhaustedError(
        Cat("all ", tables_.size(), " table places are taken; evict a table"));
  }
  KS_ASSIGN_OR_RETURN(const uint32_t at,
                      ClaimExtent(RoundUp(static_cast<uint32_t>(table.words.size()))));
  Resident& resident = tables_[id];
  resident.lengths = LengthsOf(table);
  resident.at = at;
  resident.words = static_cast<uint32_t>(table.words.size());
  resident.generation = next_generation_++;
  if (next_generation_ == 0) next_generation_ = 1;
  resident.users = 0;
  resident.evicted = false;
  return TableHandle{id, resident.generation};
}

absl::StatusOr<const TableArena::Resident*> TableArena::Find(TableHandle handle) const {
  if (handle.id >= tables_.size() || handle.generation == 0 ||
      tables_[handle.id].generation != handle.generation || tables_[handle.id].evicted) {
    return absl::NotFoundError(Cat("table ", handle.id, " of generation ", handle.generation,
                                   " is not resident; load it again"));
  }
  return &tables_[handle.id];
}

void TableArena::Free(uint32_t id) {
  Resident& resident = tables_[id];
  uint32_t at = resident.at;
  uint32_t words = RoundUp(resident.words);
  auto after = free_.lower_bound(at);
  if (after != free_.end() && after->first == at + words) {
    words += after->second;
    after = free_.erase(after);
  }
  if (after != free_.begin()) {
    auto before = std::prev(after);
    if (before->first + before->second == at) {
      at = before->first;
      words += before->second;
      free_.erase(before);
    }
  }
  free_[at] = words;
  resident = Resident{};
}

absl::Status TableArena::Evict(TableHandle handle) {
  KS_RETURN_IF_ERROR(Find(handle).status());
  tables_[handle.id].evicted = true;
  if (tables_[handle.id].users == 0) Free(handle.id);
  return absl::OkStatus();
}

void TableArena::Hold(TableHandle handle) { ++tables_[handle.id].users; }

void TableArena::Leave(TableHandle handle) {
  Resident& resident = tables_[handle.id];
  if (resident.generation != handle.generation || resident.users == 0) return;
  if (--resident.users == 0 && resident.evicted) Free(handle.id);
}

std::array<DirectoryEntry, KS_CTL_DIRECTORY> TableArena::Directory() const {
  std::array<DirectoryEntry, KS_CTL_DIRECTORY> directory{};
  for (size_t i = 0; i < tables_.size(); ++i) {
    directory[i].generation = tables_[i].generation;
    directory[i].at = tables_[i].at;
    directory[i].size = tables_[i].words;
  }
  return directory;
}

}  // namespace keysieve::megakernel
