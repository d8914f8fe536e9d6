// SPDX-License-Identifier: MIT
// A scratch folder and the client run in-process against any server.
#pragma once

#include <sys/fsuid.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "daemon/client/commands.h"
#include "gtest/gtest.h"

namespace keysieve::client {

struct ClientRun {
  int code = -1;
  std::string out;
  std::string err;
};

// Runs the client as main() would. `environment` is all there is of it.
inline ClientRun RunWith(const std::vector<std::string>& args, Interrupt& interrupt,
                         int stdin_fd = -1,
                         const std::map<std::string, std::string>& environment = {}) {
  std::ostringstream out;
  std::ostringstream err;
  Console console{out,
                  err,
                  stdin_fd,
                  false,
                  false,
                  [&](const char* name) {
                    const auto found = environment.find(name);
                    return found == environment.end() ? nullptr : found->second.c_str();
                  },
                  interrupt};
  ClientRun run;
  run.code = RunClient(args, console);
  run.out = out.str();
  run.err = err.str();
  return run;
}

inline ClientRun RunWith(const std::vector<std::string>& args) {
  Interrupt interrupt;
  return RunWith(args, interrupt);
}

// While it lives, this thread's file accesses are those of a user who owns nothing: root, whom no
// permission stops, could not test an unreadable file.
class AsNobody {
 public:
  AsNobody() : before_(setfsuid(kNobody)) {}
  ~AsNobody() { setfsuid(static_cast<uid_t>(before_)); }
  AsNobody(const AsNobody&) = delete;
  AsNobody& operator=(const AsNobody&) = delete;

 private:
  static constexpr uid_t kNobody = 65534;
  int before_;
};

// A folder that is gone after the test, open to all users.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string name = std::filesystem::temp_directory_path() / "ks-client-XXXXXX";
    path_ = mkdtemp(name.data());
    std::filesystem::permissions(path_, std::filesystem::perms(0755));
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  std::string path() const { return path_.string(); }
  std::string operator/(const std::string& name) const { return path() + "/" + name; }

  // Makes the file and the folders above it. Returns its full path.
  std::string Write(const std::string& name, const std::string& content) const {
    const std::filesystem::path file = path_ / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << content;
    return file.string();
  }
  static std::string Read(const std::string& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

 private:
  std::filesystem::path path_;
};

}  // namespace keysieve::client
