// SPDX-License-Identifier: MIT
// Literal tables: the read-only image the device program matches with. Compiling is a pure
// function: the same literals give the same words on every machine. Layout:
// megakernel/table_layout.inl.
//
//   auto table = CompileTable({{"AKIA", false}, {"ghp_", false}});
//   auto check = ValidateTable(table->words);   // before any use of words from elsewhere
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "megakernel/literal.h"

namespace keysieve::megakernel {

struct Table {
  std::vector<uint32_t> words;  // little-endian; position-independent
  uint32_t literal_count = 0;
  uint32_t max_literal_bytes = 0;  // a cut needs this less one as its margin
  std::string digest;              // SHA-256 of `words` in hex
};

// INVALID_ARGUMENT names the literal and the limit: empty list, empty literal, over 255 bytes, over
// 65,536 literals. Duplicates are allowed and each reports its own hits.
absl::StatusOr<Table> CompileTable(std::span<const Literal> literals);

// Checks version, bounds of every section and every index inside; INVALID_ARGUMENT says which word.
absl::StatusOr<Table> ValidateTable(std::vector<uint32_t> words);

// A text form for people and for tests: header fields, then a line a literal.
std::string DumpTable(const Table& table);

}  // namespace keysieve::megakernel
