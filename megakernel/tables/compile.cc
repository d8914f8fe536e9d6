// SPDX-License-Identifier: MIT
// Lays a literal list out as a table. Pure and deterministic: a stable order, integer costs, no
// hashing of addresses. Sections are built apart and joined at the end.
#include <algorithm>
#include <array>
#include <numeric>

#include "evidence/base/status.h"
#include "megakernel/table.h"
#include "megakernel/table_layout.inl"
#include "megakernel/tables/byte_profile.h"
#include "megakernel/tables/digest.h"

namespace keysieve::megakernel {
namespace {

bool IsLetter(uint8_t c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

uint8_t ByteAt(const Literal& literal, size_t i) { return static_cast<uint8_t>(literal.bytes[i]); }

uint8_t FoldedAt(const Literal& literal, size_t i) { return ByteAt(literal, i) | 0x20; }

struct Entry {
  uint32_t bucket;
  uint32_t key;
  uint32_t ref;
};

class TableBuilder {
 public:
  explicit TableBuilder(std::span<const Literal> literals) : literals_(literals) {
    size_t windowed = 0;
    for (const Literal& literal : literals) windowed += literal.bytes.size() >= 3;
    row_bits_ = KS_MIN_ROW_BITS;
    while (row_bits_ < KS_MAX_ROW_BITS && windowed > (size_t{1} << (row_bits_ - 3))) ++row_bits_;
    quad_bits_ = BucketBits(windowed);
    rows_.assign(size_t{1} << row_bits_, 0);
    load_.assign(size_t{1} << quad_bits_, 0);
  }

  std::vector<uint32_t> Build() {
    for (uint32_t id : ByLength()) Place(id);
    for (const Literal& literal : literals_) AddRecord(literal);
    return Join();
  }

 private:
  static uint32_t BucketBits(size_t entries) {
    uint32_t bits = 8;
    while (bits < KS_MAX_BUCKET_BITS - 1 && (size_t{1} << bits) < entries * 2) ++bits;
    return bits;
  }

  // Short ones first: they have the fewest windows to choose from.
  std::vector<uint32_t> ByLength() const {
    std::vector<uint32_t> order(literals_.size());
    std::iota(order.begin(), order.end(), 0u);
    std::stable_sort(order.begin(), order.end(), [this](uint32_t a, uint32_t b) {
      return literals_[a].bytes.size() < literals_[b].bytes.size();
    });
    return order;
  }

  void Place(uint32_t id) {
    const Literal& literal = literals_[id];
    max_bytes_ = std::max(max_bytes_, static_cast<uint32_t>(literal.bytes.size()));
    if (literal.bytes.size() <= 2) {
      PlaceShort(id, literal);
    } else if (literal.bytes.size() == 3) {
      PlaceTri(id, literal);
    } else {
      PlaceQuad(id, literal);
    }
  }

  static uint32_t Window(const Literal& literal, size_t at) {
    return FoldedAt(literal, at) | FoldedAt(literal, at + 1) << 8 |
           FoldedAt(literal, at + 2) << 16 | static_cast<uint32_t>(FoldedAt(literal, at + 3)) << 24;
  }

  // How much text would pass the filter for this window and be compared, in arbitrary units.
  uint64_t Cost(const Literal& literal, size_t at, uint32_t window) const {
    uint32_t before = ByteClass(FoldedAt(literal, at));
    uint32_t thirds = DigitValue(kFirstCost[before]);
    for (size_t i = 1; i < 4; ++i) {
      const uint32_t next = ByteClass(FoldedAt(literal, at + i));
      thirds += DigitValue(kNextCost[before * 65 + next]);
      before = next;
    }
    constexpr uint64_t kThirds[] = {65536, 52016, 41285};  // 2^16 * 2^(-n/3)
    const uint64_t frequency = (kThirds[thirds % 3] << 32) >> std::min(thirds / 3, 48u);
    const bool set = rows_[KS_ROW_OF(window, row_bits_)] >> (window & 31) & 1;
    const uint32_t load = std::min<uint32_t>(load_[KS_QUAD_OF(window, quad_bits_)], 255);
    return frequency * ((set ? 1 : 4) + load);
  }

  void PlaceQuad(uint32_t id, const Literal& literal) {
    uint32_t best = 0;
    uint64_t best_cost = ~uint64_t{0};
    for (uint32_t at = 0; at + 4 <= literal.bytes.size(); ++at) {
      const uint64_t cost = Cost(literal, at, Window(literal, at));
      if (cost < best_cost) {
        best_cost = cost;
        best = at;
      }
    }
    const uint32_t window = Window(literal, best);
    const uint32_t bucket = KS_QUAD_OF(window, quad_bits_);
    rows_[KS_ROW_OF(window, row_bits_)] |= 1u << (window & 31);
    ++load_[bucket];
    max_offset_ = std::max(max_offset_, best);
    quads_.push_back({bucket, window, id | best << KS_ENTRY_OFFSET_SHIFT});
  }

  void PlaceTri(uint32_t id, const Literal& literal) {
    const uint32_t window = FoldedAt(literal, 0) << 8 | FoldedAt(literal, 1) << 16 |
                            static_cast<uint32_t>(FoldedAt(literal, 2)) << 24;
    rows_[KS_ROW_OF(window, row_bits_)] = ~0u;
    tris_.push_back({0, window, id});
  }

  static std::vector<uint8_t> Variants(const Literal& literal, size_t i) {
    const uint8_t c = ByteAt(literal, i);
    if (!literal.ignore_case || !IsLetter(c)) return {c};
    return {static_cast<uint8_t>(c & ~0x20), static_cast<uint8_t>(c | 0x20)};
  }

  void PlaceShort(uint32_t id, const Literal& literal) {
    const auto length = static_cast<uint32_t>(literal.bytes.size());
    const std::vector<uint8_t> seconds =
        length == 2 ? Variants(literal, 1) : std::vector<uint8_t>{0};
    for (uint8_t first : Variants(literal, 0)) {
      for (uint32_t second : seconds) {
        shorts_[first].push_back(id | length << KS_SHORT_LENGTH_SHIFT |
                                 second << KS_SHORT_SECOND_SHIFT);
      }
    }
  }

  void AddRecord(const Literal& literal) {
    const size_t length = literal.bytes.size();
    records_.push_back(static_cast<uint32_t>(bytes_.size()));
    records_.push_back(static_cast<uint32_t>(length) |
                       (literal.ignore_case ? KS_RECORD_IGNORE_CASE : 0));
    for (size_t i = 0; i < length; i += 4) {
      uint32_t value = 0;
      uint32_t fold = 0;
      for (size_t b = 0; b < 4 && i + b < length; ++b) {
        const uint8_t c = ByteAt(literal, i + b);
        const uint32_t folds = literal.ignore_case && IsLetter(c) ? 0x20 : 0;
        value |= (c | folds) << (8 * b);
        fold |= folds << (8 * b);
      }
      bytes_.push_back(value);
      bytes_.push_back(fold);
    }
  }

  // Appends 2^bits + 1 starts for `entries`, which it brings into bucket order.
  void AppendStarts(std::vector<Entry>& entries, uint32_t bits, uint32_t base) {
    std::stable_sort(entries.begin(), entries.end(),
                     [](const Entry& a, const Entry& b) { return a.bucket < b.bucket; });
    size_t next = 0;
    for (uint32_t bucket = 0; bucket <= 1u << bits; ++bucket) {
      while (next < entries.size() && entries[next].bucket < bucket) ++next;
      words_.push_back(base + static_cast<uint32_t>(next));
    }
  }

  void Append(uint32_t header, const std::vector<uint32_t>& section) {
    Mark(header);
    words_.insert(words_.end(), section.begin(), section.end());
  }

  void Mark(uint32_t header) { words_[header] = static_cast<uint32_t>(words_.size()); }

  void AppendShorts() {
    std::vector<uint32_t> list;
    std::vector<uint32_t> head(KS_SHORT_HEAD_WORDS, 0);
    for (uint32_t first = 0; first < 256; ++first) {
      if (!shorts_[first].empty()) head[first / 32] |= 1u << (first % 32);
      head[KS_SHORT_STARTS_AT + first] = static_cast<uint32_t>(list.size());
      list.insert(list.end(), shorts_[first].begin(), shorts_[first].end());
    }
    head[KS_SHORT_STARTS_AT + 256] = static_cast<uint32_t>(list.size());
    Append(KS_TABLE_SHORTS_AT, head);
    words_[KS_TABLE_SHORT_COUNT_AT] = static_cast<uint32_t>(list.size());
    Append(KS_TABLE_SHORT_LIST_AT, list);
  }

  void AppendEntries() {
    words_[KS_TABLE_QUAD_BITS_AT] = quad_bits_;
    Mark(KS_TABLE_QUADS_AT);
    AppendStarts(quads_, quad_bits_, 0);
    const uint32_t tri_bits = BucketBits(tris_.size());
    for (Entry& entry : tris_) entry.bucket = KS_TRI_OF(entry.key, tri_bits);
    words_[KS_TABLE_TRI_BITS_AT] = tri_bits;
    words_[KS_TABLE_TRI_COUNT_AT] = static_cast<uint32_t>(tris_.size());
    Mark(KS_TABLE_TRIS_AT);
    AppendStarts(tris_, tri_bits, static_cast<uint32_t>(quads_.size()));
    if (words_.size() % 2 != 0) words_.push_back(0);
    Mark(KS_TABLE_ENTRIES_AT);
    words_[KS_TABLE_ENTRY_COUNT_AT] = static_cast<uint32_t>(quads_.size() + tris_.size());
    for (const std::vector<Entry>* entries : {&quads_, &tris_}) {
      for (const Entry& entry : *entries) {
        words_.push_back(entry.key);
        words_.push_back(entry.ref);
      }
    }
  }

  std::vector<uint32_t> Join() {
    words_.assign(KS_TABLE_HEADER_WORDS, 0);
    words_[KS_TABLE_MAGIC_AT] = KS_TABLE_MAGIC;
    words_[KS_TABLE_VERSION_AT] = KS_TABLE_VERSION;
    words_[KS_TABLE_LITERALS_AT] = static_cast<uint32_t>(literals_.size());
    words_[KS_TABLE_MAX_BYTES_AT] = max_bytes_;
    words_[KS_TABLE_MAX_OFFSET_AT] = max_offset_;
    words_[KS_TABLE_ROW_BITS_AT] = row_bits_;
    Append(KS_TABLE_ROWS_AT, rows_);
    AppendEntries();
    Append(KS_TABLE_RECORDS_AT, records_);
    words_[KS_TABLE_BYTES_WORDS_AT] = static_cast<uint32_t>(bytes_.size());
    Append(KS_TABLE_BYTES_AT, bytes_);
    AppendShorts();
    words_[KS_TABLE_WORDS_AT] = static_cast<uint32_t>(words_.size());
    return std::move(words_);
  }

  std::span<const Literal> literals_;
  uint32_t row_bits_ = 0;
  uint32_t quad_bits_ = 0;
  uint32_t max_bytes_ = 0;
  uint32_t max_offset_ = 0;
  std::vector<uint32_t> rows_;
  std::vector<uint32_t> load_;  // entries by quad bucket
  std::vector<Entry> quads_;
  std::vector<Entry> tris_;
  std::array<std::vector<uint32_t>, 256> shorts_;
  std::vector<uint32_t> records_;
  std::vector<uint32_t> bytes_;
  std::vector<uint32_t> words_;
};

}  // namespace

absl::StatusOr<Table> CompileTable(std::span<const Literal> literals) {
  if (literals.empty()) {
    return absl::InvalidArgumentError("the literal list is empty; a table needs at least one");
  }
  if (literals.size() > kMaxLiterals) {
    return absl::InvalidArgumentError(Cat("the list has ", literals.size(),
                                          " literals; a table holds at most ", kMaxLiterals,
                                          ": split it over several tables"));
  }
  for (size_t i = 0; i < literals.size(); ++i) {
    const size_t length = literals[i].bytes.size();
    if (length == 0 || length > kMaxLiteralBytes) {
      return absl::InvalidArgumentError(
          Cat("literal ", i, " has ", length, " bytes; it must have 1 to ", kMaxLiteralBytes));
    }
  }
  Table table;
  table.words = TableBuilder(literals).Build();
  table.literal_count = table.words[KS_TABLE_LITERALS_AT];
  table.max_literal_bytes = table.words[KS_TABLE_MAX_BYTES_AT];
  KS_ASSIGN_OR_RETURN(table.digest, DigestWords(table.words));
  return table;
}

}  // namespace keysieve::megakernel
