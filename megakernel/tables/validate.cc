// SPDX-License-Identifier: MIT
// Checks a table image so thoroughly that the device program may follow any index in it: every
// section inside the words, every start in order, every entry and record pointing into its section.
#include "evidence/base/status.h"
#include "megakernel/literal.h"
#include "megakernel/table.h"
#include "megakernel/table_layout.inl"
#include "megakernel/tables/digest.h"

namespace keysieve::megakernel {
namespace {

absl::Status Bad(uint64_t word, const std::string& why) {
  return absl::InvalidArgumentError(
      Cat("table word ", word, " ", why, "; compile the table again"));
}

class Validator {
 public:
  explicit Validator(std::span<const uint32_t> words) : words_(words) {}

  absl::Status Check() const {
    KS_RETURN_IF_ERROR(CheckHeader());
    KS_RETURN_IF_ERROR(CheckSections());
    KS_RETURN_IF_ERROR(CheckRecords());
    KS_RETURN_IF_ERROR(CheckStarts(At(KS_TABLE_QUADS_AT), uint64_t{1} << At(KS_TABLE_QUAD_BITS_AT),
                                   At(KS_TABLE_ENTRY_COUNT_AT)));
    KS_RETURN_IF_ERROR(CheckStarts(At(KS_TABLE_TRIS_AT), uint64_t{1} << At(KS_TABLE_TRI_BITS_AT),
                                   At(KS_TABLE_ENTRY_COUNT_AT)));
    KS_RETURN_IF_ERROR(CheckEntries());
    KS_RETURN_IF_ERROR(CheckStarts(uint64_t{At(KS_TABLE_SHORTS_AT)} + KS_SHORT_STARTS_AT, 256,
                                   At(KS_TABLE_SHORT_COUNT_AT)));
    return CheckShorts();
  }

 private:
  uint32_t At(uint64_t i) const { return words_[i]; }

  absl::Status CheckHeader() const {
    if (words_.size() < KS_TABLE_HEADER_WORDS) {
      return Bad(0, Cat("starts an image of ", words_.size(), " words, less than a header of ",
                        KS_TABLE_HEADER_WORDS));
    }
    if (At(KS_TABLE_MAGIC_AT) != KS_TABLE_MAGIC)
      return Bad(KS_TABLE_MAGIC_AT, "is no table's magic");
    if (At(KS_TABLE_VERSION_AT) != KS_TABLE_VERSION) {
      return Bad(KS_TABLE_VERSION_AT, Cat("says version ", At(KS_TABLE_VERSION_AT),
                                          "; this program reads ", KS_TABLE_VERSION));
    }
    if (At(KS_TABLE_WORDS_AT) != words_.size()) {
      return Bad(KS_TABLE_WORDS_AT,
                 Cat("says ", At(KS_TABLE_WORDS_AT), " words; there are ", words_.size()));
    }
    KS_RETURN_IF_ERROR(CheckRange(KS_TABLE_LITERALS_AT, 1, kMaxLiterals));
    KS_RETURN_IF_ERROR(CheckRange(KS_TABLE_MAX_BYTES_AT, 1, kMaxLiteralBytes));
    KS_RETURN_IF_ERROR(CheckRange(KS_TABLE_MAX_OFFSET_AT, 0, kMaxLiteralBytes - 1));
    KS_RETURN_IF_ERROR(CheckRange(KS_TABLE_ROW_BITS_AT, KS_MIN_ROW_BITS, KS_MAX_ROW_BITS));
    KS_RETURN_IF_ERROR(CheckRange(KS_TABLE_QUAD_BITS_AT, KS_MIN_BUCKET_BITS, KS_MAX_BUCKET_BITS));
    return CheckRange(KS_TABLE_TRI_BITS_AT, KS_MIN_BUCKET_BITS, KS_MAX_BUCKET_BITS);
  }

  absl::Status CheckRange(uint32_t word, uint32_t low, uint32_t high) const {
    if (At(word) >= low && At(word) <= high) return absl::OkStatus();
    return Bad(word, Cat("is ", At(word), ", outside ", low, "..", high));
  }

  absl::Status CheckSection(uint32_t word, uint64_t size) const {
    const uint64_t at = At(word);
    if (at >= KS_TABLE_HEADER_WORDS && at + size <= words_.size()) return absl::OkStatus();
    return Bad(word, Cat("puts a section of ", size, " words at ", at, ", outside the image of ",
                         words_.size()));
  }

  absl::Status CheckSections() const {
    KS_RETURN_IF_ERROR(CheckSection(KS_TABLE_ROWS_AT, uint64_t{1} << At(KS_TABLE_ROW_BITS_AT)));
    KS_RETURN_IF_ERROR(
        CheckSection(KS_TABLE_QUADS_AT, (uint64_t{1} << At(KS_TABLE_QUAD_BITS_AT)) + 1));
    KS_RETURN_IF_ERROR(
        CheckSection(KS_TABLE_TRIS_AT, (uint64_t{1} << At(KS_TABLE_TRI_BITS_AT)) + 1));
    KS_RETURN_IF_ERROR(
        CheckSection(KS_TABLE_ENTRIES_AT, uint64_t{At(KS_TABLE_ENTRY_COUNT_AT)} * KS_ENTRY_WORDS));
    KS_RETURN_IF_ERROR(
        CheckSection(KS_TABLE_RECORDS_AT, uint64_t{At(KS_TABLE_LITERALS_AT)} * KS_RECORD_WORDS));
    KS_RETURN_IF_ERROR(CheckSection(KS_TABLE_BYTES_AT, At(KS_TABLE_BYTES_WORDS_AT)));
    KS_RETURN_IF_ERROR(CheckSection(KS_TABLE_SHORTS_AT, KS_SHORT_HEAD_WORDS));
    return CheckSection(KS_TABLE_SHORT_LIST_AT, At(KS_TABLE_SHORT_COUNT_AT));
  }

  absl::Status CheckStarts(uint64_t at, uint64_t buckets, uint32_t limit) const {
    uint32_t before = 0;
    for (uint64_t i = at; i <= at + buckets; ++i) {
      if (At(i) < before || At(i) > limit) {
        return Bad(i, Cat("is a start of ", At(i), ", outside ", before, "..", limit));
      }
      before = At(i);
    }
    return absl::OkStatus();
  }

  uint32_t Length(uint32_t literal) const {
    return At(At(KS_TABLE_RECORDS_AT) + uint64_t{literal} * KS_RECORD_WORDS + 1) &
           KS_RECORD_LENGTH_MASK;
  }

  absl::Status CheckRecords() const {
    for (uint32_t i = 0; i < At(KS_TABLE_LITERALS_AT); ++i) {
      const uint64_t at = At(KS_TABLE_RECORDS_AT) + uint64_t{i} * KS_RECORD_WORDS;
      const uint32_t length = Length(i);
      if (length == 0 || length > At(KS_TABLE_MAX_BYTES_AT)) {
        return Bad(at + 1, Cat("gives literal ", i, " a length of ", length, ", outside 1..",
                               At(KS_TABLE_MAX_BYTES_AT)));
      }
      if (uint64_t{At(at)} + (length + 3) / 4 * 2 > At(KS_TABLE_BYTES_WORDS_AT)) {
        return Bad(at, Cat("puts the bytes of literal ", i, " past their section"));
      }
      KS_RETURN_IF_ERROR(CheckBytes(i, At(at + 1) & KS_RECORD_IGNORE_CASE, length));
    }
    return absl::OkStatus();
  }

  // Pairs of bytes and folds: a fold only at a lower-case letter of a literal that ignores case, so
  // that every route reads the same literal from them.
  absl::Status CheckBytes(uint32_t literal, bool ignore_case, uint32_t length) const {
    const uint64_t record = At(KS_TABLE_RECORDS_AT) + uint64_t{literal} * KS_RECORD_WORDS;
    const uint64_t bytes = uint64_t{At(KS_TABLE_BYTES_AT)} + At(record);
    for (uint32_t i = 0; i < (length + 3) / 4 * 4; ++i) {
      const uint64_t at = bytes + i / 4 * 2;
      const uint32_t byte = At(at) >> (i % 4 * 8) & 0xff;
      const uint32_t fold = At(at + 1) >> (i % 4 * 8) & 0xff;
      const bool letter = (byte | 0x20) >= 'a' && (byte | 0x20) <= 'z';
      const bool folds = ignore_case && letter && i < length;
      if (fold != (folds ? 0x20u : 0u) || (folds && (byte & 0x20) == 0) ||
          (i >= length && byte != 0)) {
        return Bad(at, Cat("holds no bytes that a compiler writes for literal ", literal));
      }
    }
    return absl::OkStatus();
  }

  absl::Status CheckEntries() const {
    for (uint32_t i = 0; i < At(KS_TABLE_ENTRY_COUNT_AT); ++i) {
      const uint64_t at = At(KS_TABLE_ENTRIES_AT) + uint64_t{i} * KS_ENTRY_WORDS + 1;
      const uint32_t literal = At(at) & KS_ENTRY_ID_MASK;
      const uint32_t offset = At(at) >> KS_ENTRY_OFFSET_SHIFT & 0xff;
      if (literal >= At(KS_TABLE_LITERALS_AT)) {
        return Bad(at, Cat("names literal ", literal, " of ", At(KS_TABLE_LITERALS_AT)));
      }
      if (offset > At(KS_TABLE_MAX_OFFSET_AT) || (offset > 0 && offset + 4 > Length(literal))) {
        return Bad(at, Cat("puts a window at offset ", offset, " of literal ", literal));
      }
    }
    return absl::OkStatus();
  }

  absl::Status CheckShorts() const {
    for (uint32_t i = 0; i < At(KS_TABLE_SHORT_COUNT_AT); ++i) {
      const uint64_t at = uint64_t{At(KS_TABLE_SHORT_LIST_AT)} + i;
      const uint32_t literal = At(at) & KS_ENTRY_ID_MASK;
      const uint32_t length = At(at) >> KS_SHORT_LENGTH_SHIFT & KS_SHORT_LENGTH_MASK;
      if (literal >= At(KS_TABLE_LITERALS_AT) || length == 0 || length != Length(literal)) {
        return Bad(at, Cat("lists literal ", literal, " with a length of ", length));
      }
    }
    return absl::OkStatus();
  }

  std::span<const uint32_t> words_;
};

}  // namespace

absl::StatusOr<Table> ValidateTable(std::vector<uint32_t> words) {
  KS_RETURN_IF_ERROR(Validator(words).Check());
  Table table;
  KS_ASSIGN_OR_RETURN(table.digest, DigestWords(words));
  table.literal_count = words[KS_TABLE_LITERALS_AT];
  table.max_literal_bytes = words[KS_TABLE_MAX_BYTES_AT];
  table.words = std::move(words);
  return table;
}

}  // namespace keysieve::megakernel
