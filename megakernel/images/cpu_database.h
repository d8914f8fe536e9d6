// SPDX-License-Identifier: MIT
// A literal list as a Vectorscan database: compiled from a table's own words, immutable, scanned by
// any number of threads at once, each with a workspace of its own. It knows neither slots nor
// blobs.
//
//   auto database = *CpuDatabase::Compile(table);
//   auto workspace = database->Take();                    // null: no memory left
//   database->Scan(text, *workspace, handler, context);
//   database->GiveBack(std::move(workspace));
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "evidence/base/mutex.h"
#include "megakernel/table.h"

struct hs_database;
struct hs_scratch;

namespace keysieve::megakernel {

// Literals of the same bytes and case rule. Vectorscan takes none that begins with NUL: of such a
// literal it is given what follows its first `nuls` bytes, and those are for the caller to compare.
struct LiteralGroup {
  uint32_t first = 0;   // id of the group's first literal
  uint16_t length = 0;  // bytes of the whole literal
  uint16_t nuls = 0;
  uint32_t others_at = 0;  // the group's other ids, in others()
  uint32_t others = 0;
};

class CpuDatabase {
 public:
  // Vectorscan's: group, unused, end of the match in bytes from the text's first, flags, context.
  // Not zero ends the scan.
  using Handler = int (*)(unsigned, unsigned long long, unsigned long long, unsigned, void*);

  struct Workspace {
    ~Workspace();
    hs_scratch* scratch = nullptr;
    std::vector<uint64_t> keys;  // the caller's
  };

  // UNIMPLEMENTED where the processor is too old, RESOURCE_EXHAUSTED without memory, INTERNAL with
  // Vectorscan's own words for whatever else it refuses.
  static absl::StatusOr<std::shared_ptr<const CpuDatabase>> Compile(const Table& table);
  ~CpuDatabase();
  CpuDatabase(const CpuDatabase&) = delete;
  CpuDatabase& operator=(const CpuDatabase&) = delete;

  std::unique_ptr<Workspace> Take() const;
  void GiveBack(std::unique_ptr<Workspace> workspace) const;

  // Reports every match of every group but those of NULs alone, by increasing end. False if the
  // handler ended the scan or Vectorscan failed: what was reported is then not all.
  bool Scan(std::span<const uint8_t> text, const Workspace& workspace, Handler handler,
            void* context) const;

  const LiteralGroup& group(uint32_t index) const { return groups_[index]; }
  std::span<const uint32_t> others(const LiteralGroup& group) const {
    return std::span(others_).subspan(group.others_at, group.others);
  }
  std::span<const LiteralGroup> nul_groups() const { return nul_groups_; }
  uint32_t max_literal_bytes() const { return max_literal_bytes_; }
  uint64_t bytes() const;  // of the database

 private:
  CpuDatabase() = default;
  void AddGroups(const Table& table, std::vector<std::string>& patterns,
                 std::vector<unsigned>& flags);
  absl::Status CompileGroups(const std::vector<std::string>& patterns,
                             const std::vector<unsigned>& flags);

  hs_database* database_ = nullptr;  // null: every literal is of NULs alone
  hs_scratch* prototype_ = nullptr;
  std::vector<LiteralGroup> groups_;
  std::vector<LiteralGroup> nul_groups_;
  std::vector<uint32_t> others_;
  uint32_t max_literal_bytes_ = 0;
  mutable Mutex mutex_;
  mutable std::vector<std::unique_ptr<Workspace>> idle_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace keysieve::megakernel
