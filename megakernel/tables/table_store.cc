// SPDX-License-Identifier: MIT
#include "megakernel/tables/table_store.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <utility>

#include "evidence/base/status.h"
#include "megakernel/table_layout.inl"
#include "megakernel/tables/digest.h"
#include "megakernel/tables/literals.h"

namespace keysieve::megakernel {
namespace {

constexpr size_t kDigestBytes = 64;  // hex digits before the words

// As a table gives a literal back.
Literal Canonical(Literal literal) {
  if (literal.ignore_case) {
    for (char& c : literal.bytes) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  }
  return literal;
}

// Names the list and the layout it is compiled to.
absl::StatusOr<std::string> KeyOf(std::span<const Literal> literals) {
  std::vector<uint32_t> words = {KS_TABLE_MAGIC, KS_TABLE_VERSION};
  for (const Literal& given : literals) {
    const Literal literal = Canonical(given);
    const size_t at = words.size() + 1;
    words.push_back(static_cast<uint32_t>(literal.bytes.size()) << 1 | literal.ignore_case);
    words.resize(at + (literal.bytes.size() + 3) / 4, 0);
    std::memcpy(words.data() + at, literal.bytes.data(), literal.bytes.size());
  }
  return DigestWords(words);
}

std::optional<Table> ReadTable(const std::string& path, std::span<const Literal> literals) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  if (bytes.size() <= kDigestBytes || (bytes.size() - kDigestBytes) % 4 != 0) return std::nullopt;
  std::vector<uint32_t> words((bytes.size() - kDigestBytes) / 4);
  std::memcpy(words.data(), bytes.data() + kDigestBytes, words.size() * 4);
  absl::StatusOr<Table> table = ValidateTable(std::move(words));
  if (!table.ok() || bytes.compare(0, kDigestBytes, table->digest) != 0 ||
      table->literal_count != literals.size()) {
    return std::nullopt;
  }
  const std::vector<Literal> held = LiteralsOf(*table);
  for (size_t i = 0; i < held.size(); ++i) {
    const Literal wanted = Canonical(literals[i]);
    if (held[i].bytes != wanted.bytes || held[i].ignore_case != wanted.ignore_case) {
      return std::nullopt;
    }
  }
  return *std::move(table);
}

bool WriteAll(int file, const void* data, size_t size) {
  const char* next = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t written = write(file, next, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    next += written;
    size -= static_cast<size_t>(written);
  }
  return true;
}

// Empty, or why the file was not written.
std::string WriteTable(const std::string& path, const Table& table) {
  std::string fresh = path + ".XXXXXX";
  const int file = mkostemp(fresh.data(), O_CLOEXEC);  // a name of its own, 0600
  if (file < 0) return Cat("cannot write the table file ", path, ": ", std::strerror(errno));
  const bool written = WriteAll(file, table.digest.data(), kDigestBytes) &&
                       WriteAll(file, table.words.data(), table.words.size() * 4);
  const bool closed = close(file) == 0;
  if (written && closed && std::rename(fresh.c_str(), path.c_str()) == 0) return "";
  const std::string why = std::strerror(errno);
  unlink(fresh.c_str());
  return Cat("cannot write the table file ", path, ": ", why);
}

}  // namespace

absl::StatusOr<std::string> StoredTablePath(std::span<const Literal> literals,
                                            const std::string& directory) {
  KS_ASSIGN_OR_RETURN(const std::string key, KeyOf(literals));
  return Cat(directory, "/literals-", key, ".table");
}

absl::StatusOr<Stored> CompileOrLoad(std::span<const Literal> literals,
                                     const std::string& directory) {
  Stored stored;
  std::string path;
  if (!directory.empty()) {
    KS_ASSIGN_OR_RETURN(path, StoredTablePath(literals, directory));
    if (std::optional<Table> table = ReadTable(path, literals)) {
      stored.table = *std::move(table);
      stored.from_disk = true;
      return stored;
    }
  }
  KS_ASSIGN_OR_RETURN(stored.table, CompileTable(literals));
  if (!path.empty()) stored.note = WriteTable(path, stored.table);
  return stored;
}

}  // namespace keysieve::megakernel
