// SPDX-License-Identifier: MIT
// The synchronous server: one thread a stream, read by blob.
#include "tests/daemon/client/fake_daemon.h"

#include <google/protobuf/any.pb.h>
#include <google/protobuf/duration.pb.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <optional>
#include <utility>

#include "evidence/base/status.h"

namespace keysieve::client {
namespace {

constexpr char kMarker[] = "LEAK-";

// A length-delimited field in protobuf's wire format; short values only.
std::string BytesField(int number, const std::string& value) {
  return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(value.size())} + value;
}

std::vector<v1::Finding> FindMarkers(const std::string& path, const std::string& text) {
  std::vector<v1::Finding> findings;
  for (size_t at = text.find(kMarker); at != std::string::npos; at = text.find(kMarker, at + 1)) {
    size_t end = at + sizeof(kMarker) - 1;
    while (end < text.size() && std::isalpha(static_cast<unsigned char>(text[end]))) ++end;
    v1::Finding finding;
    finding.set_rule_id("marker");
    finding.set_description("A marker");
    finding.set_path(path);
    finding.set_start(at);
    finding.set_end(end);
    finding.set_start_line(1 + static_cast<uint32_t>(std::count(
                                   text.begin(), text.begin() + static_cast<long>(at), '\n')));
    finding.set_end_line(finding.start_line());
    const size_t line_start = at == 0 ? 0 : text.rfind('\n', at - 1) + 1;
    finding.set_start_column(static_cast<uint32_t>(at - line_start + 1));
    finding.set_end_column(static_cast<uint32_t>(end - line_start));
    finding.set_match("LEAK-REDACTED");
    finding.set_secret("REDACTED");
    std::string name = path;  // a text field: no byte of it may be invalid UTF-8
    for (char& c : name) c = static_cast<unsigned char>(c) < 0x80 ? c : '?';
    finding.set_fingerprint(Cat(name, ":marker:", finding.start_line()));
    finding.set_keysieve_fingerprint("k0:aaaabbbbccccddddeeee");
    findings.push_back(std::move(finding));
  }
  return findings;
}

v1::Receipt WholeReceipt(uint64_t bytes) {
  v1::Receipt receipt;
  receipt.set_blob_bytes(bytes);
  receipt.set_scanned_bytes(bytes);
  receipt.set_route(v1::ROUTE_CPU);
  return receipt;
}

// Puts the chunks of one stream together and watches their order.
struct Assembly {
  std::optional<uint64_t> open;  // the incomplete blob
  std::map<uint64_t, std::string> paths;
  std::string bytes;
  std::optional<uint64_t> declared;

  // Empty: nothing wrong.
  std::string Add(const v1::Chunk& chunk) {
    const bool first = !open;
    if (first && paths.count(chunk.blob_id())) return "a blob id was used twice";
    if (!first && *open != chunk.blob_id()) return "two incomplete blobs at once";
    if (first && chunk.offset() != 0) return "a first chunk with an offset";
    if (!first && chunk.offset() != bytes.size()) return "an offset that skips bytes";
    if (!first && !chunk.path().empty()) return "a path after the first chunk";
    if (chunk.data().size() > (1 << 20)) return "a chunk of more than 1 MiB";
    if (first) {
      open = chunk.blob_id();
      paths[chunk.blob_id()] = chunk.path();
      bytes.clear();
      declared = chunk.has_declared_size() ? std::optional(chunk.declared_size()) : std::nullopt;
    }
    bytes += chunk.data();
    if (declared && bytes.size() > *declared) return "more bytes than were declared";
    if (declared && chunk.last() && bytes.size() != *declared) return "fewer bytes than declared";
    if (chunk.last()) open.reset();
    return "";
  }
};

}  // namespace

grpc::Status FullWithRetryInfo(int delay_ms) {
  google::protobuf::Duration delay;
  delay.set_nanos(delay_ms * 1000000);
  google::protobuf::Any detail;
  detail.set_type_url("type.googleapis.com/google.rpc.RetryInfo");
  detail.set_value(BytesField(1, delay.SerializeAsString()));
  return grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "full",
                      BytesField(3, detail.SerializeAsString()));
}

class FakeDaemon::Scanner : public v1::ScanService::Service {
 public:
  explicit Scanner(FakeDaemon& daemon) : daemon_(daemon) {}

  grpc::Status Scan(grpc::ServerContext*,
                    grpc::ServerReaderWriter<v1::ScanReply, v1::ScanRequest>* stream) override {
    const auto answer = [&](uint64_t id, const std::string& path, const std::string& bytes) {
      v1::ScanReply reply;
      v1::BlobResult& result = *reply.mutable_blob();
      result.set_blob_id(id);
      for (auto& finding : FindMarkers(path, bytes)) *result.add_findings() = std::move(finding);
      *result.mutable_receipt() = WholeReceipt(bytes.size());
      if (daemon_.behaviour_.change) daemon_.behaviour_.change(path, &result);
      stream->Write(reply);
    };
    v1::ScanReply accepted;
    accepted.mutable_accepted()->set_rule_digest("d1");
    *accepted.mutable_accepted()->mutable_limits() = daemon_.behaviour_.limits;
    return Serve<v1::ScanRequest>(stream, accepted, answer, [&](const v1::ScanRequest& request) {
      MutexLock lock(daemon_.mutex_);
      daemon_.options_.push_back(request.options());
    });
  }

  grpc::Status Match(grpc::ServerContext*,
                     grpc::ServerReaderWriter<v1::MatchReply, v1::MatchRequest>* stream) override {
    v1::MatchOptions options;
    const auto answer = [&](uint64_t id, const std::string&, const std::string& bytes) {
      v1::MatchReply reply;
      v1::MatchBlob* blob = reply.mutable_blob();
      blob->set_blob_id(id);
      // A message a hit, so that the client has to put them together.
      for (size_t at = 0; at < bytes.size(); ++at) {
        for (int p = 0; p < options.patterns_size(); ++p) {
          const std::string& literal = options.patterns(p).literal();
          if (bytes.compare(at, literal.size(), literal) != 0) continue;
          blob->clear_matches();
          v1::LiteralMatch* match = blob->add_matches();
          match->set_pattern_id(static_cast<uint32_t>(p));
          match->set_start(at);
          match->set_end(at + literal.size());
          stream->Write(reply);
        }
      }
      blob->clear_matches();
      blob->set_last(true);
      *blob->mutable_receipt() = WholeReceipt(bytes.size());
      stream->Write(reply);
    };
    v1::MatchReply accepted;
    *accepted.mutable_accepted()->mutable_limits() = daemon_.behaviour_.limits;
    return Serve<v1::MatchRequest>(stream, accepted, answer, [&](const v1::MatchRequest& request) {
      options = request.options();
    });
  }

 private:
  template <typename Request, typename Stream, typename Reply, typename Answer, typename Note>
  grpc::Status Serve(Stream* stream, const Reply& accepted, Answer answer, Note note_options) {
    const Behaviour& behaviour = daemon_.behaviour_;
    const int number = daemon_.streams_++;
    Request request;
    if (!stream->Read(&request) || !request.has_options()) {
      return grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "options come first");
    }
    note_options(request);
    if (behaviour.on_options) {
      const grpc::Status status = behaviour.on_options(number);
      if (!status.ok()) return status;
    }
    stream->Write(accepted);
    Assembly assembly;
    while (stream->Read(&request)) {
      for (const v1::Chunk& chunk : request.chunks().chunks()) {
        if (behaviour.on_chunk) behaviour.on_chunk(chunk);
        const std::string wrong = assembly.Add(chunk);
        if (!wrong.empty()) daemon_.Complain(wrong);
        if (!chunk.last()) continue;
        const std::string& path = assembly.paths[chunk.blob_id()];
        if (behaviour.before_answer) {
          const grpc::Status status = behaviour.before_answer(number, path);
          if (!status.ok()) return status;
        }
        daemon_.Keep(path, assembly.bytes);
        answer(chunk.blob_id(), path, assembly.bytes);
      }
    }
    Reply summary;
    summary.mutable_summary()->set_blobs(assembly.paths.size());
    stream->Write(summary);
    return grpc::Status::OK;
  }

  FakeDaemon& daemon_;
};

class FakeDaemon::Admin : public v1::AdminService::Service {
 public:
  explicit Admin(FakeDaemon& daemon) : daemon_(daemon) {}
  grpc::Status GetStatus(grpc::ServerContext*, const v1::GetStatusRequest*,
                         v1::Status* status) override {
    status->set_version("9.8.7");
    status->set_ready(daemon_.behaviour_.ready);
    status->set_admin_address("127.0.0.1:9");
    v1::DeviceStatus* device = status->add_devices();
    device->set_backend("cpu");
    device->set_name("a processor");
    device->set_state(v1::DeviceStatus::OPEN);
    status->mutable_rules()->set_name("default");
    status->mutable_rules()->set_rules(12);
    return grpc::Status::OK;
  }

 private:
  FakeDaemon& daemon_;
};

FakeDaemon::FakeDaemon() : FakeDaemon(Behaviour{}) {}

FakeDaemon::FakeDaemon(Behaviour behaviour) : behaviour_(std::move(behaviour)) {
  std::string folder = "/tmp/ks-fake-XXXXXX";
  folder_ = mkdtemp(folder.data());
  address_ = "unix:" + folder_ + "/s";
  scanner_ = std::make_unique<Scanner>(*this);
  admin_ = std::make_unique<Admin>(*this);
  grpc::ServerBuilder builder;
  builder.AddListeningPort(address_, grpc::InsecureServerCredentials());
  builder.RegisterService(scanner_.get());
  builder.RegisterService(admin_.get());
  server_ = builder.BuildAndStart();
  // For clients that have given up root.
  chmod(folder_.c_str(), 0755);
  chmod((folder_ + "/s").c_str(), 0777);
}

FakeDaemon::~FakeDaemon() {
  server_->Shutdown(std::chrono::system_clock::now() + std::chrono::milliseconds(200));
  unlink((folder_ + "/s").c_str());
  rmdir(folder_.c_str());
}

void FakeDaemon::Complain(const std::string& what) {
  MutexLock lock(mutex_);
  complaints_.push_back(what);
}

void FakeDaemon::Keep(const std::string& path, const std::string& bytes) {
  MutexLock lock(mutex_);
  blobs_[path].push_back(bytes);
}

std::map<std::string, std::vector<std::string>> FakeDaemon::blobs() const {
  MutexLock lock(mutex_);
  return blobs_;
}

std::vector<v1::ScanOptions> FakeDaemon::scan_options() const {
  MutexLock lock(mutex_);
  return options_;
}

std::vector<std::string> FakeDaemon::complaints() const {
  MutexLock lock(mutex_);
  return complaints_;
}

}  // namespace keysieve::client
