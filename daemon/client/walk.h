// SPDX-License-Identifier: MIT
// Which files a scan reads. Paths are walked in byte order of their names; what is met and not read
// is listed with its reason: an exclusion where that is policy (symbolic links, special files,
// git's own folder, ignored files), a gap where the bytes were wanted. Reads folders and .gitignore
// files only.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "daemon/client/files.h"
#include "keysieve/v1/scan.pb.h"

namespace keysieve::client {

struct WalkOptions {
  bool gitignore = false;      // leave out what the tree's .gitignore files name
  std::function<bool()> stop;  // asked now and then; true ends the walk early
};

struct WalkedFile {
  std::string path;              // as opened, and as reported
  uint64_t size = 0;             // bytes, when it was met
  Links links = Links::kRefuse;  // followed only where a link was named by the caller
};

struct Omitted {
  std::string path;  // a folder's ends in a slash
  v1::Omission omission;
};

struct WalkResult {
  std::vector<WalkedFile> files;  // by path
  std::vector<Omitted> exclusions;
  std::vector<Omitted> gaps;
};

// Walks `paths`, each a file or a folder; a symbolic link is followed here and nowhere below. A
// file reached twice under one name is listed once. INVALID_ARGUMENT names a path that does not
// exist.
absl::StatusOr<WalkResult> Walk(const std::vector<std::string>& paths, const WalkOptions& options);

// An omission of the whole blob.
v1::Omission MakeOmission(v1::Omission::Reason reason, uint64_t start, uint64_t end,
                          const std::string& detail);

}  // namespace keysieve::client
