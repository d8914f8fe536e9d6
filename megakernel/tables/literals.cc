// SPDX-License-Identifier: MIT
#include "megakernel/tables/literals.h"

#include "megakernel/table_layout.inl"

namespace keysieve::megakernel {

std::vector<Literal> LiteralsOf(const Table& table) {
  const std::vector<uint32_t>& words = table.words;
  std::vector<Literal> literals(table.literal_count);
  for (size_t id = 0; id < literals.size(); ++id) {
    const size_t record = words[KS_TABLE_RECORDS_AT] + id * KS_RECORD_WORDS;
    const uint32_t length = words[record + 1] & KS_RECORD_LENGTH_MASK;
    const size_t bytes = size_t{words[KS_TABLE_BYTES_AT]} + words[record];
    literals[id].ignore_case = (words[record + 1] & KS_RECORD_IGNORE_CASE) != 0;
    literals[id].bytes.reserve(length);
    for (uint32_t i = 0; i < length; ++i) {
      literals[id].bytes += static_cast<char>(words[bytes + i / 4 * 2] >> (i % 4 * 8) & 0xff);
    }
  }
  return literals;
}

}  // namespace keysieve::megakernel
