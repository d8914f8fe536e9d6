// SPDX-License-Identifier: MIT
#include "megakernel/images/cpu_database.h"

#include <hs/hs.h>

#include <map>
#include <string>
#include <utility>

#include "evidence/base/status.h"
#include "megakernel/tables/literals.h"

namespace keysieve::megakernel {

CpuDatabase::Workspace::~Workspace() { hs_free_scratch(scratch); }

CpuDatabase::~CpuDatabase() {
  hs_free_scratch(prototype_);
  hs_free_database(database_);
}

uint64_t CpuDatabase::bytes() const {
  size_t size = 0;
  if (database_ != nullptr) hs_database_size(database_, &size);
  return size;
}

// Groups are numbered in the order of their first literals, so that a table always compiles alike.
void CpuDatabase::AddGroups(const Table& table, std::vector<std::string>& patterns,
                            std::vector<unsigned>& flags) {
  const std::vector<Literal> literals = LiteralsOf(table);
  std::map<std::pair<std::string, bool>, size_t> index_of;
  std::vector<std::vector<uint32_t>> members;
  for (uint32_t id = 0; id < literals.size(); ++id) {
    const auto [place, fresh] =
        index_of.try_emplace({literals[id].bytes, literals[id].ignore_case}, members.size());
    if (fresh) members.emplace_back();
    members[place->second].push_back(id);
  }
  max_literal_bytes_ = table.max_literal_bytes;
  for (const std::vector<uint32_t>& ids : members) {
    const Literal& literal = literals[ids.front()];
    LiteralGroup group{.first = ids.front(),
                       .length = static_cast<uint16_t>(literal.bytes.size()),
                       .others_at = static_cast<uint32_t>(others_.size()),
                       .others = static_cast<uint32_t>(ids.size() - 1)};
    others_.insert(others_.end(), ids.begin() + 1, ids.end());
    const size_t nuls = literal.bytes.find_first_not_of('\0');
    group.nuls = nuls == std::string::npos ? group.length : static_cast<uint16_t>(nuls);
    if (group.nuls == group.length) {
      nul_groups_.push_back(group);
      continue;
    }
    groups_.push_back(group);
    patterns.push_back(literal.bytes.substr(group.nuls));
    flags.push_back(literal.ignore_case ? HS_FLAG_CASELESS : 0);
  }
}

absl::Status CpuDatabase::CompileGroups(const std::vector<std::string>& patterns,
                                        const std::vector<unsigned>& flags) {
  std::vector<const char*> expressions;
  std::vector<unsigned> ids;
  std::vector<size_t> lengths;
  for (const std::string& pattern : patterns) {
    ids.push_back(static_cast<unsigned>(ids.size()));
    expressions.push_back(pattern.data());
    lengths.push_back(pattern.size());
  }
  hs_compile_error_t* error = nullptr;
  if (hs_compile_lit_multi(expressions.data(), flags.data(), ids.data(), lengths.data(),
                           static_cast<unsigned>(patterns.size()), HS_MODE_BLOCK, nullptr,
                           &database_, &error) != HS_SUCCESS) {
    const std::string why = error != nullptr ? error->message : "no reason given";
    hs_free_compile_error(error);
    return absl::InternalError(Cat("Vectorscan refuses ", patterns.size(), " literals: ", why));
  }
  if (hs_alloc_scratch(database_, &prototype_) == HS_SUCCESS) return absl::OkStatus();
  return absl::ResourceExhaustedError("the host has no memory left for Vectorscan's scratch space");
}

absl::StatusOr<std::shared_ptr<const CpuDatabase>> CpuDatabase::Compile(const Table& table) {
  if (hs_valid_platform() != HS_SUCCESS) {
    return absl::UnimplementedError("this processor lacks the instructions that Vectorscan needs");
  }
  std::shared_ptr<CpuDatabase> database(new CpuDatabase);
  std::vector<std::string> patterns;
  std::vector<unsigned> flags;
  database->AddGroups(table, patterns, flags);
  if (!patterns.empty()) KS_RETURN_IF_ERROR(database->CompileGroups(patterns, flags));
  return database;
}

std::unique_ptr<CpuDatabase::Workspace> CpuDatabase::Take() const {
  {
    MutexLock lock(mutex_);
    if (!idle_.empty()) {
      std::unique_ptr<Workspace> workspace = std::move(idle_.back());
      idle_.pop_back();
      return workspace;
    }
  }
  auto workspace = std::make_unique<Workspace>();
  if (prototype_ != nullptr && hs_clone_scratch(prototype_, &workspace->scratch) != HS_SUCCESS) {
    return nullptr;
  }
  return workspace;
}

void CpuDatabase::GiveBack(std::unique_ptr<Workspace> workspace) const {
  MutexLock lock(mutex_);
  idle_.push_back(std::move(workspace));
}

bool CpuDatabase::Scan(std::span<const uint8_t> text, const Workspace& workspace, Handler handler,
                       void* context) const {
  if (database_ == nullptr || text.empty()) return true;
  return hs_scan(database_, reinterpret_cast<const char*>(text.data()),
                 static_cast<unsigned>(text.size()), 0, workspace.scratch, handler,
                 context) == HS_SUCCESS;
}

}  // namespace keysieve::megakernel
