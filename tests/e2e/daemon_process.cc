// SPDX-License-Identifier: MIT
#include "tests/e2e/daemon_process.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <random>
#include <regex>
#include <sstream>
#include <thread>

namespace keysieve::e2e {
namespace {

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

int CodeOf(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status); }

pid_t Spawn(const std::vector<std::string>& argv, int in, int out) {
  std::vector<char*> args;
  for (const std::string& arg : argv) args.push_back(const_cast<char*>(arg.c_str()));
  args.push_back(nullptr);
  const pid_t pid = ::vfork();
  if (pid == 0) {
    if (in >= 0) ::dup2(in, 0);
    ::dup2(out, 1);
    ::dup2(out, 2);
    ::execvp(args[0], args.data());
    ::_exit(127);
  }
  return pid;
}

std::string Field(const std::string& log, const std::string& name) {
  std::smatch match;
  const std::regex pattern("\"event\":\"start\".*\"" + name + "\":\"([^\"]*)\"");
  return std::regex_search(log, match, pattern) ? match[1].str() : "";
}

}  // namespace

Folder::Folder() {
  char path[] = "/tmp/ks-e2e-XXXXXX";
  path_ = ::mkdtemp(path);
}

Folder::~Folder() {
  std::error_code error;
  std::filesystem::remove_all(path_, error);
}

std::string Folder::Write(const std::string& name, const std::string& text) const {
  const std::string path = path_ + "/" + name;
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

Ended RunProgram(const std::vector<std::string>& argv, const std::string& input) {
  const Folder folder;
  const std::string out_path = folder.Write("out", "");
  const std::string in_path = folder.Write("in", input);
  const int out = ::open(out_path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  const int in = ::open(in_path.c_str(), O_RDONLY | O_CLOEXEC);
  const pid_t pid = Spawn(argv, in, out);
  ::close(in);
  ::close(out);
  int status = 0;
  ::waitpid(pid, &status, 0);
  return {CodeOf(status), ReadFile(out_path)};
}

Keysieved::Keysieved(const std::vector<std::string>& args, const std::string& program) {
  const std::string path = folder_.path() + "/run/k.sock";
  log_path_ = folder_.Write("log", "");
  std::vector<std::string> argv = {program.empty() ? KEYSIEVED : program,
                                   "--listen",
                                   "unix:" + path,
                                   "--listen",
                                   "127.0.0.1:0",
                                   "--admin-listen",
                                   "127.0.0.1:0"};
  argv.insert(argv.end(), args.begin(), args.end());
  const int out = ::open(log_path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  pid_ = Spawn(argv, -1, out);
  ::close(out);
  while (Field(Log(), "listen").empty()) {
    int status = 0;
    if (::waitpid(pid_, &status, WNOHANG) == pid_) {
      code_ = CodeOf(status);
      pid_ = -1;
      return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  serving_ = true;
  socket_ = "unix:" + path;
  const std::string listen = Field(Log(), "listen");
  tcp_ = listen.substr(listen.rfind(' ') + 1);
  admin_ = Field(Log(), "admin");
}

Keysieved::~Keysieved() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

std::string Keysieved::Log() const { return ReadFile(log_path_); }

void Keysieved::Signal(int signal) const { ::kill(pid_, signal); }

int Keysieved::Wait() {
  int status = 0;
  ::waitpid(pid_, &status, 0);
  pid_ = -1;
  return CodeOf(status);
}

std::optional<double> Keysieved::Metric(const std::string& series) const {
  std::istringstream lines(HttpGet(admin_, "/metrics"));
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind(series + " ", 0) == 0) return std::stod(line.substr(series.size() + 1));
  }
  return std::nullopt;
}

std::shared_ptr<grpc::Channel> Dial(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetMaxReceiveMessageSize(-1);
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
}

std::string HttpGet(const std::string& host_port, const std::string& path, int* code) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  const size_t colon = host_port.rfind(':');
  address.sin_port = htons(static_cast<uint16_t>(std::stoi(host_port.substr(colon + 1))));
  ::inet_pton(AF_INET, host_port.substr(0, colon).c_str(), &address.sin_addr);
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  std::string reply;
  if (::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0) {
    const std::string request =
        "GET " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    ::send(fd, request.data(), request.size(), MSG_NOSIGNAL);
    char buffer[65536];
    for (ssize_t n; (n = ::recv(fd, buffer, sizeof(buffer), 0)) > 0;) {
      reply.append(buffer, static_cast<size_t>(n));
    }
  }
  ::close(fd);
  if (code != nullptr) *code = reply.size() > 12 ? std::stoi(reply.substr(9, 3)) : 0;
  const size_t body = reply.find("\r\n\r\n");
  return body == std::string::npos ? "" : reply.substr(body + 4);
}

ScanOutcome Scan(const std::string& address, const std::vector<File>& files, bool show_secrets,
                 bool profile) {
  constexpr size_t kChunk = 512 << 10;
  const auto stub = v1::ScanService::NewStub(Dial(address));
  grpc::ClientContext context;
  const auto call = stub->Scan(&context);
  std::thread writer([&] {
    v1::ScanRequest request;
    request.mutable_options()->set_show_secrets(show_secrets);
    request.mutable_options()->set_profile(profile);
    bool open = call->Write(request);
    for (size_t id = 0; open && id < files.size(); ++id) {
      const std::string& bytes = files[id].bytes;
      for (size_t at = 0; open && (at == 0 || at < bytes.size()); at += kChunk) {
        request.Clear();
        v1::Chunk* chunk = request.mutable_chunks()->add_chunks();
        chunk->set_blob_id(id);
        if (at == 0) {
          chunk->set_path(files[id].path);
          chunk->set_declared_size(bytes.size());
        }
        chunk->set_offset(at);
        chunk->set_data(bytes.substr(at, kChunk));
        chunk->set_last(at + kChunk >= bytes.size());
        open = call->Write(request);
      }
    }
    call->WritesDone();
  });
  ScanOutcome outcome;
  v1::ScanReply reply;
  while (call->Read(&reply)) {
    if (reply.has_summary()) outcome.summary = reply.summary();
    if (!reply.has_blob()) continue;
    const std::string& path = files.at(reply.blob().blob_id()).path;
    auto& findings = outcome.findings[path];
    for (const v1::Finding& finding : reply.blob().findings()) findings.push_back(finding);
    outcome.receipts[path] = reply.blob().receipt();
  }
  writer.join();
  outcome.status = call->Finish();
  return outcome;
}

std::string FakeGithubToken(unsigned seed) {
  static constexpr char kAlphabet[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
  std::mt19937 random(seed);
  std::string token = std::string("gh") + "p_";
  for (int i = 0; i < 36; ++i) token += kAlphabet[random() % 62];
  return token;
}

std::string Filler(size_t bytes, unsigned seed) {
  static constexpr const char* kWords[] = {"the ",  "quick ", "brown ", "fox ", "jumps ",
                                           "over ", "a ",     "lazy ",  "dog\n"};
  std::mt19937 random(seed);
  std::string text;
  text.reserve(bytes + 8);
  while (text.size() < bytes) text += kWords[random() % 9];
  text.resize(bytes);
  return text;
}

}  // namespace keysieve::e2e
