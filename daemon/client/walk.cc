// SPDX-License-Identifier: MIT
// A folder is read whole and closed before its children are entered, so depth costs no descriptors.
#include "daemon/client/walk.h"

#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

#include "daemon/client/files.h"
#include "daemon/client/glob.h"
#include "evidence/base/status.h"

namespace keysieve::client {
namespace {

using v1::Omission;

constexpr uint64_t kIgnoreFileLimit = 1 << 20;  // bytes

// A rule file sees a path with its first `skip` bytes replaced by `prefix`: what its folder calls
// it.
struct IgnoreLayer {
  size_t skip = 0;
  std::string prefix;
  IgnoreRules rules;
};

std::string JoinPath(const std::string& folder, std::string_view name) {
  std::string path = folder;
  if (!path.empty() && path.back() != '/') path.push_back('/');
  return path.append(name);
}

// "./a/" becomes "a", so that one file has one name in every report. "." becomes "".
std::string TidyPath(std::string path) {
  while (path.substr(0, 2) == "./") {
    path.erase(0, 2);
    while (!path.empty() && path[0] == '/') path.erase(0, 1);
  }
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path == "." ? "" : path;
}

std::string WithSlash(const std::string& path) {
  return path.empty() || path.back() == '/' ? path : path + "/";
}

std::string OpenName(const std::string& path) { return path.empty() ? "." : path; }

class Walker {
 public:
  explicit Walker(const WalkOptions& options) : options_(options) {}

  absl::Status Start(const std::string& argument);
  WalkResult Take();

 private:
  void Folder(const std::string& path);
  void Child(const std::string& folder, const std::string& name);
  void File(const std::string& path, uint64_t size) {
    result_.files.push_back({path, size, Links::kRefuse});
  }
  void Exclude(const std::string& path, Omission::Reason reason, const std::string& detail) {
    result_.exclusions.push_back({path, MakeOmission(reason, 0, 0, detail)});
  }
  void Gap(const std::string& path, int error, const std::string& what) {
    const auto reason = error == ENOENT ? Omission::VANISHED : Omission::READ_ERROR;
    result_.gaps.push_back({path, MakeOmission(reason, 0, 0, Cat(what, ": ", strerror(error)))});
  }
  void LoadIgnoreLayer(const std::string& file, size_t skip, const std::string& prefix);
  void LoadParentLayers(const std::string& folder);
  bool Ignored(const std::string& path, bool is_directory) const;

  const WalkOptions& options_;
  std::vector<IgnoreLayer> layers_;  // outermost first
  WalkResult result_;
};

absl::Status Walker::Start(const std::string& argument) {
  struct stat info;
  if (argument.empty() || stat(argument.c_str(), &info) != 0) {
    const int error = argument.empty() ? ENOENT : errno;
    if (error == EACCES) {
      Gap(TidyPath(argument), error, "cannot be reached");
      return absl::OkStatus();
    }
    return absl::InvalidArgumentError(Cat("cannot scan '", argument, "': ", strerror(error),
                                          "; name files or folders that exist, or - for standard "
                                          "input"));
  }
  const std::string path = TidyPath(argument);
  layers_.clear();
  if (S_ISDIR(info.st_mode)) {
    if (options_.gitignore) LoadParentLayers(path);
    Folder(path);
  } else if (S_ISREG(info.st_mode)) {
    result_.files.push_back({path, static_cast<uint64_t>(info.st_size), Links::kFollow});
  } else {
    Exclude(path, Omission::SPECIAL_FILE, "neither a regular file nor a folder");
  }
  return absl::OkStatus();
}

void Walker::Folder(const std::string& path) {
  if (options_.stop && options_.stop()) return;
  const std::string shown = WithSlash(path);
  std::unique_ptr<DIR, int (*)(DIR*)> dir(opendir(OpenName(path).c_str()), closedir);
  if (!dir) return Gap(shown.empty() ? "./" : shown, errno, "cannot list the folder");
  std::vector<std::string> names;
  while (true) {
    errno = 0;
    const dirent* entry = readdir(dir.get());
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  if (errno != 0) Gap(shown.empty() ? "./" : shown, errno, "cannot list the whole folder");
  dir.reset();
  std::sort(names.begin(), names.end());
  const size_t outer_layers = layers_.size();
  if (options_.gitignore && std::binary_search(names.begin(), names.end(), ".gitignore")) {
    LoadIgnoreLayer(shown + ".gitignore", shown.size(), "");
  }
  for (const std::string& name : names) Child(path, name);
  layers_.resize(outer_layers);
}

void Walker::Child(const std::string& folder, const std::string& name) {
  const std::string path = JoinPath(folder, name);
  struct stat info;
  if (lstat(path.c_str(), &info) != 0) return Gap(path, errno, "cannot be examined");
  const bool is_directory = S_ISDIR(info.st_mode);
  const std::string shown = is_directory ? path + "/" : path;
  if (name == ".git") return Exclude(shown, Omission::IGNORED_BY_VCS, "git's own data");
  if (options_.gitignore && Ignored(path, is_directory)) {
    return Exclude(shown, Omission::IGNORED_BY_VCS, "named by a .gitignore file");
  }
  if (is_directory) return Folder(path);
  if (S_ISREG(info.st_mode)) return File(path, static_cast<uint64_t>(info.st_size));
  if (S_ISLNK(info.st_mode)) {
    return Exclude(path, Omission::SYMLINK, "symbolic links are not followed");
  }
  Exclude(path, Omission::SPECIAL_FILE, "neither a regular file nor a folder");
}

void Walker::LoadIgnoreLayer(const std::string& file, size_t skip, const std::string& prefix) {
  const auto text = ReadSmallFile(file, kIgnoreFileLimit, Links::kRefuse);
  if (!text.ok()) return;  // nothing is left out for it, so nothing is missed
  IgnoreRules rules = IgnoreRules::Parse(*text);
  if (!rules.empty()) layers_.push_back({skip, prefix, std::move(rules)});
}

// The repository's own list and the .gitignore files between its root and `folder`.
void Walker::LoadParentLayers(const std::string& folder) {
  std::unique_ptr<char, void (*)(void*)> real(realpath(OpenName(folder).c_str(), nullptr), free);
  if (!real) return;
  const std::string absolute = real.get();
  const auto parent_of = [](const std::string& path) {
    const size_t slash = path.rfind('/');
    return slash == 0 ? std::string("/") : path.substr(0, slash);
  };
  std::vector<std::string> above;  // innermost first
  struct stat info;
  std::string root = absolute;
  while (lstat(JoinPath(root, ".git").c_str(), &info) != 0) {
    if (root == "/") return;
    above.push_back(root = parent_of(root));
  }
  const size_t skip = WithSlash(folder).size();
  const auto prefix = [&](const std::string& outer) {
    return outer == absolute ? "" : absolute.substr(WithSlash(outer).size()) + "/";
  };
  LoadIgnoreLayer(JoinPath(root, ".git/info/exclude"), skip, prefix(root));
  for (auto outer = above.rbegin(); outer != above.rend(); ++outer) {
    LoadIgnoreLayer(JoinPath(*outer, ".gitignore"), skip, prefix(*outer));
  }
}

bool Walker::Ignored(const std::string& path, bool is_directory) const {
  for (auto layer = layers_.rbegin(); layer != layers_.rend(); ++layer) {
    const auto verdict = layer->rules.Check(layer->prefix + path.substr(layer->skip), is_directory);
    if (verdict != IgnoreVerdict::kNone) return verdict == IgnoreVerdict::kIgnored;
  }
  return false;
}

WalkResult Walker::Take() {
  const auto by_path = [](const auto& a, const auto& b) { return a.path < b.path; };
  const auto same_path = [](const auto& a, const auto& b) { return a.path == b.path; };
  auto tidy = [&](auto& list) {
    std::stable_sort(list.begin(), list.end(), by_path);
    list.erase(std::unique(list.begin(), list.end(), same_path), list.end());
  };
  tidy(result_.files);
  tidy(result_.exclusions);
  tidy(result_.gaps);
  return std::move(result_);
}

}  // namespace

absl::StatusOr<WalkResult> Walk(const std::vector<std::string>& paths, const WalkOptions& options) {
  Walker walker(options);
  for (const std::string& path : paths) KS_RETURN_IF_ERROR(walker.Start(path));
  return walker.Take();
}

v1::Omission MakeOmission(v1::Omission::Reason reason, uint64_t start, uint64_t end,
                          const std::string& detail) {
  Omission omission;
  omission.set_reason(reason);
  omission.set_start(start);
  omission.set_end(end);
  omission.set_detail(detail);
  return omission;
}

}  // namespace keysieve::client
