// SPDX-License-Identifier: MIT
// A keysieved of the test's own: started with arguments, awaited until it serves, ended by its pid.
// With it the few things the tests do from outside: scan, fetch a page, run a program.
#pragma once

#include <grpcpp/create_channel.h>
#include <keysieve/v1/admin.grpc.pb.h>
#include <keysieve/v1/scan.grpc.pb.h>
#include <sys/types.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace keysieve::e2e {

// A fresh folder, removed with what is in it.
class Folder {
 public:
  Folder();
  ~Folder();
  const std::string& path() const { return path_; }
  std::string Write(const std::string& name, const std::string& text) const;

 private:
  std::string path_;
};

struct Ended {
  int code = -1;       // exit code, or -signal
  std::string output;  // standard output and error together
};

// Runs to the end.
Ended RunProgram(const std::vector<std::string>& argv, const std::string& input = "");

class Keysieved {
 public:
  // With a Unix socket, a TCP port and an admin port of its own, and `args` besides. `program`:
  // another build of keysieved.
  explicit Keysieved(const std::vector<std::string>& args, const std::string& program = "");
  ~Keysieved();  // kills it if it still runs

  // Has printed its start line. If false it has ended and `code()` says how.
  bool serving() const { return serving_; }
  int code() const { return code_; }
  std::string Log() const;

  pid_t pid() const { return pid_; }
  const std::string& socket() const { return socket_; }  // unix:/...
  const std::string& tcp() const { return tcp_; }
  const std::string& admin() const { return admin_; }

  void Signal(int signal) const;
  // Waits for its end; the exit code, or -signal.
  int Wait();

  // Of /metrics: the value of the series, its labels as printed; nothing if it is not there.
  std::optional<double> Metric(const std::string& series) const;

 private:
  Folder folder_;
  std::string socket_, tcp_, admin_, log_path_;
  pid_t pid_ = -1;
  bool serving_ = false;
  int code_ = -1;
};

std::shared_ptr<grpc::Channel> Dial(const std::string& address);

// The body, empty if nobody answers; `code` gets the status.
std::string HttpGet(const std::string& host_port, const std::string& path, int* code = nullptr);

struct File {
  std::string path;
  std::string bytes;
};
struct ScanOutcome {
  grpc::Status status;
  std::map<std::string, std::vector<v1::Finding>> findings;  // by path; every blob has an entry
  std::map<std::string, v1::Receipt> receipts;
  std::optional<v1::Summary> summary;
};
ScanOutcome Scan(const std::string& address, const std::vector<File>& files,
                 bool show_secrets = false, bool profile = false);

// A token no service ever gave out, put together here so that no scanner finds it in this file.
std::string FakeGithubToken(unsigned seed);
// `bytes` of harmless words, the same for the same seed.
std::string Filler(size_t bytes, unsigned seed);

}  // namespace keysieve::e2e
