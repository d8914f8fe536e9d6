// SPDX-License-Identifier: MIT
#include <sstream>

#include "megakernel/table.h"
#include "megakernel/table_layout.inl"

namespace keysieve::megakernel {
namespace {

void AppendByte(std::ostringstream& out, uint32_t byte) {
  constexpr char kHex[] = "0123456789abcdef";
  if (byte == '\\') {
    out << "\\\\";
  } else if (byte >= 0x20 && byte < 0x7f) {
    out << static_cast<char>(byte);
  } else {
    out << "\\x" << kHex[byte >> 4] << kHex[byte & 15];
  }
}

// Literals that ignore case are shown in lower case.
void AppendLiteral(std::ostringstream& out, const std::vector<uint32_t>& words, uint32_t id) {
  const size_t record = words[KS_TABLE_RECORDS_AT] + size_t{id} * KS_RECORD_WORDS;
  const uint32_t length = words[record + 1] & KS_RECORD_LENGTH_MASK;
  out << id << (words[record + 1] & KS_RECORD_IGNORE_CASE ? " i " : " s ");
  const size_t bytes = size_t{words[KS_TABLE_BYTES_AT]} + words[record];
  for (uint32_t i = 0; i < length; ++i) {
    AppendByte(out, words[bytes + i / 4 * 2] >> (i % 4 * 8) & 0xff);
  }
  out << "\n";
}

}  // namespace

std::string DumpTable(const Table& table) {
  const std::vector<uint32_t>& words = table.words;
  std::ostringstream out;
  out << "digest " << table.digest << "\n"
      << "version " << words[KS_TABLE_VERSION_AT] << "\n"
      << "words " << words[KS_TABLE_WORDS_AT] << "\n"
      << "literals " << words[KS_TABLE_LITERALS_AT] << "\n"
      << "max_bytes " << words[KS_TABLE_MAX_BYTES_AT] << "\n"
      << "max_offset " << words[KS_TABLE_MAX_OFFSET_AT] << "\n"
      << "row_bits " << words[KS_TABLE_ROW_BITS_AT] << "\n"
      << "entries " << words[KS_TABLE_ENTRY_COUNT_AT] << "\n"
      << "tri_entries " << words[KS_TABLE_TRI_COUNT_AT] << "\n"
      << "short_entries " << words[KS_TABLE_SHORT_COUNT_AT] << "\n";
  for (uint32_t i = 0; i < table.literal_count; ++i) AppendLiteral(out, words, i);
  return out.str();
}

}  // namespace keysieve::megakernel
