// SPDX-License-Identifier: MIT
// Opening is non-blocking and refuses links: between the walk and the read a file may have become a
// pipe or a link to elsewhere.
#include "daemon/client/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "daemon/client/walk.h"
#include "evidence/base/status.h"

namespace keysieve::client {
namespace {

using v1::Omission;

int OpenForReading(const std::string& path, Links links) {
  const int no_links = links == Links::kRefuse ? O_NOFOLLOW : 0;
  return open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | no_links);
}

// Reads until `want` bytes are there, the file ends, or errno says why not (-1).
ssize_t ReadFully(int fd, char* to, size_t want) {
  size_t done = 0;
  while (done < want) {
    const ssize_t got = read(fd, to + done, want - done);
    if (got == 0) break;
    if (got > 0) {
      done += static_cast<size_t>(got);
    } else if (errno != EINTR) {
      return -1;
    }
  }
  return static_cast<ssize_t>(done);
}

absl::Status WriteFully(int fd, const std::string& content, const std::string& name) {
  size_t done = 0;
  while (done < content.size()) {
    const ssize_t put = write(fd, content.data() + done, content.size() - done);
    if (put >= 0) {
      done += static_cast<size_t>(put);
    } else if (errno != EINTR) {
      return absl::UnavailableError(Cat("cannot write ", name, ": ", strerror(errno)));
    }
  }
  return absl::OkStatus();
}

absl::Status OpenError(const std::string& path, int error) {
  const std::string message = Cat("cannot read ", path, ": ", strerror(error));
  if (error == ENOENT || error == ENOTDIR) return absl::NotFoundError(message);
  if (error == EACCES || error == EPERM) return absl::PermissionDeniedError(message);
  return absl::UnavailableError(message);
}

}  // namespace

absl::StatusOr<std::string> ReadSmallFile(const std::string& path, uint64_t limit, Links links) {
  const int fd = OpenForReading(path, links);
  if (fd < 0) return OpenError(path, errno);
  struct stat info;
  std::string content;
  ssize_t got = -1;
  const bool regular = fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
  if (regular) {
    content.resize(std::min<uint64_t>(limit, static_cast<uint64_t>(info.st_size)) + 1);
    got = ReadFully(fd, content.data(), content.size());
  }
  const int error = errno;
  close(fd);
  if (!regular) return absl::InvalidArgumentError(Cat(path, " is no regular file"));
  if (got < 0) return OpenError(path, error);
  if (static_cast<uint64_t>(got) > limit) {
    return absl::InvalidArgumentError(Cat(path, " is larger than the limit of ", limit, " bytes"));
  }
  content.resize(static_cast<size_t>(got));
  return content;
}

BlobReader BlobReader::OfFile(const std::string& path, Links links) {
  BlobReader reader;
  reader.fd_ = OpenForReading(path, links);
  struct stat info;
  if (reader.fd_ < 0) {
    const bool vanished = errno == ENOENT || errno == ENOTDIR || errno == ELOOP;
    reader.gap_ = MakeOmission(vanished ? Omission::VANISHED : Omission::READ_ERROR, 0, 0,
                               Cat("cannot be opened: ", strerror(errno)));
  } else if (fstat(reader.fd_, &info) != 0) {
    reader.gap_ =
        MakeOmission(Omission::READ_ERROR, 0, 0, Cat("cannot be examined: ", strerror(errno)));
  } else if (!S_ISREG(info.st_mode)) {
    reader.gap_ = MakeOmission(Omission::VANISHED, 0, 0, "is a regular file no more");
  } else {
    reader.size_ = static_cast<uint64_t>(info.st_size);
  }
  return reader;
}

BlobReader BlobReader::OfSpooledFile(const std::string& path, Links links, uint64_t limit) {
  auto content = ReadSmallFile(path, limit, links);
  if (content.ok()) return OfBytes(std::make_shared<const std::string>(*std::move(content)));
  BlobReader reader;
  reader.gap_ =
      MakeOmission(absl::IsNotFound(content.status()) ? Omission::VANISHED : Omission::READ_ERROR,
                   0, 0, Message(content.status()));
  return reader;
}

BlobReader BlobReader::OfBytes(std::shared_ptr<const std::string> bytes) {
  BlobReader reader;
  reader.size_ = bytes->size();
  reader.bytes_ = std::move(bytes);
  return reader;
}

BlobReader::BlobReader(BlobReader&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      bytes_(std::move(other.bytes_)),
      size_(other.size_),
      offset_(other.offset_),
      gap_(std::move(other.gap_)) {}

BlobReader::~BlobReader() {
  if (fd_ >= 0) close(fd_);
}

bool BlobReader::Read(size_t want, std::string* out) {
  want = static_cast<size_t>(std::min<uint64_t>(want, size_ - offset_));
  if (!bytes_) return ReadFile(want, out);
  out->assign(*bytes_, offset_, want);
  offset_ += want;
  return offset_ < size_;
}

bool BlobReader::ReadFile(size_t want, std::string* out) {
  out->resize(want);
  const ssize_t got = ReadFully(fd_, out->data(), want);
  if (got < 0) {
    out->clear();
    gap_ = MakeOmission(Omission::READ_ERROR, offset_, size_,
                        Cat("cannot be read: ", strerror(errno)));
    return false;
  }
  out->resize(static_cast<size_t>(got));
  offset_ += static_cast<uint64_t>(got);
  if (static_cast<size_t>(got) < want) {
    gap_ = MakeOmission(Omission::TRUNCATED, offset_, size_,
                        Cat("shrank from ", size_, " to ", offset_, " bytes while being read"));
    return false;
  }
  return offset_ < size_ || AtDeclaredEnd();
}

// Always false: nothing past the size is read, but that there is something is said.
bool BlobReader::AtDeclaredEnd() {
  char more;
  const ssize_t got = ReadFully(fd_, &more, 1);
  if (got < 0) {
    gap_ = MakeOmission(Omission::READ_ERROR, size_, size_,
                        Cat("cannot be read to its end: ", strerror(errno)));
  } else if (got > 0) {
    struct stat info;
    const uint64_t now = fstat(fd_, &info) == 0 ? static_cast<uint64_t>(info.st_size) : 0;
    gap_ = MakeOmission(Omission::TRUNCATED, size_, std::max(now, size_ + 1),
                        Cat("grew past ", size_, " bytes while being read"));
  }
  return false;
}

absl::StatusOr<std::unique_ptr<AtomicFile>> AtomicFile::Create(const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) {
    return absl::InvalidArgumentError(
        Cat("cannot write the report to ", path, ": it exists and is no regular file"));
  }
  std::string temporary = path + ".XXXXXX";
  const int fd = mkostemp(temporary.data(), O_CLOEXEC);
  if (fd < 0) {
    return absl::InvalidArgumentError(
        Cat("cannot write the report to ", path, ": ", strerror(errno)));
  }
  return std::unique_ptr<AtomicFile>(new AtomicFile(path, temporary, fd));
}

absl::Status AtomicFile::Commit(const std::string& content) {
  KS_RETURN_IF_ERROR(WriteFully(fd_, content, path_));
  if (fsync(fd_) != 0 || rename(temporary_.c_str(), path_.c_str()) != 0) {
    return absl::UnavailableError(Cat("cannot write ", path_, ": ", strerror(errno)));
  }
  temporary_.clear();
  return absl::OkStatus();
}

AtomicFile::~AtomicFile() {
  close(fd_);
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

}  // namespace keysieve::client
