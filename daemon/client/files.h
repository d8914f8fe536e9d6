// SPDX-License-Identifier: MIT
// Reading and writing files without surprises: a blob is read once, front to back, and what happens
// to its file meanwhile is named; a report appears whole or not at all.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "keysieve/v1/scan.pb.h"

namespace keysieve::client {

enum class Links { kFollow, kRefuse };

// The whole regular file. NOT_FOUND, PERMISSION_DENIED or UNAVAILABLE say why not, INVALID_ARGUMENT
// that it is larger than `limit` bytes or no regular file. Messages name the path.
absl::StatusOr<std::string> ReadSmallFile(const std::string& path, uint64_t limit, Links links);

// One blob's bytes in order. Of one thread.
class BlobReader {
 public:
  // A file that a walk met. Never fails: if it cannot be read, gap() says why at once.
  static BlobReader OfFile(const std::string& path, Links links);
  // The same, read whole into memory at once, `limit` bytes at most: its size holds.
  static BlobReader OfSpooledFile(const std::string& path, Links links, uint64_t limit);
  // Bytes already in memory, shared with whoever made them.
  static BlobReader OfBytes(std::shared_ptr<const std::string> bytes);

  BlobReader(BlobReader&& other) noexcept;
  BlobReader& operator=(BlobReader&&) = delete;
  ~BlobReader();

  // Bytes, as the file had them when it was opened.
  uint64_t size() const { return size_; }
  uint64_t offset() const { return offset_; }

  // Replaces `*out` with the next `want` bytes (more than none). True: more may follow. False:
  // these are the last ones, and gap() says whether the file held what it promised.
  bool Read(size_t want, std::string* out);

  // Bytes that were wanted and will never come, with the range they would have filled.
  const std::optional<v1::Omission>& gap() const { return gap_; }

 private:
  BlobReader() = default;
  bool ReadFile(size_t want, std::string* out);
  bool AtDeclaredEnd();

  int fd_ = -1;
  std::shared_ptr<const std::string> bytes_;
  uint64_t size_ = 0;
  uint64_t offset_ = 0;
  std::optional<v1::Omission> gap_;
};

// A file that is written beside its final name and renamed onto it by Commit(); without Commit()
// nothing remains. Mode 0600, since a report may hold secrets.
class AtomicFile {
 public:
  // The folder must be writable now, so that a long scan does not end in an error.
  static absl::StatusOr<std::unique_ptr<AtomicFile>> Create(const std::string& path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  absl::Status Commit(const std::string& content);

 private:
  AtomicFile(std::string path, std::string temporary, int fd)
      : path_(std::move(path)), temporary_(std::move(temporary)), fd_(fd) {}

  std::string path_;
  std::string temporary_;  // empty once renamed
  int fd_;
};

}  // namespace keysieve::client
