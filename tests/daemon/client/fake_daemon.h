// SPDX-License-Identifier: MIT
// A daemon of a few lines for the client's tests: it checks what the protocol demands of a client
// and finds the word LEAK- followed by letters. What it does wrong, it does because a test says so.
#pragma once

#include <grpcpp/server.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "evidence/base/mutex.h"
#include "keysieve/v1/admin.grpc.pb.h"
#include "keysieve/v1/scan.grpc.pb.h"

namespace keysieve::client {

class FakeDaemon {
 public:
  struct Behaviour {
    v1::Limits limits;
    // Called with the stream's number, from 0, before it is accepted. A bad status ends the stream.
    std::function<grpc::Status(int stream)> on_options;
    // Called before a blob is answered; a bad status ends the stream without the answer.
    std::function<grpc::Status(int stream, const std::string& path)> before_answer;
    // May change what is answered.
    std::function<void(const std::string& path, v1::BlobResult* result)> change;
    std::function<void(const v1::Chunk& chunk)> on_chunk;
    bool ready = true;
  };

  FakeDaemon();
  explicit FakeDaemon(Behaviour behaviour);
  ~FakeDaemon();

  // unix:/... in a folder of its own.
  const std::string& address() const { return address_; }
  Behaviour& behaviour() { return behaviour_; }

  // What arrived whole, by path, in all streams: one entry for each time.
  std::map<std::string, std::vector<std::string>> blobs() const;
  std::vector<v1::ScanOptions> scan_options() const;
  // Broken rules of the protocol. Empty after a correct client.
  std::vector<std::string> complaints() const;
  int streams() const { return streams_; }

 private:
  class Scanner;
  class Admin;
  void Complain(const std::string& what);
  void Keep(const std::string& path, const std::string& bytes);

  Behaviour behaviour_;
  std::string folder_;
  std::string address_;
  std::atomic<int> streams_{0};
  mutable Mutex mutex_;
  std::map<std::string, std::vector<std::string>> blobs_ ABSL_GUARDED_BY(mutex_);
  std::vector<v1::ScanOptions> options_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> complaints_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<Scanner> scanner_;
  std::unique_ptr<Admin> admin_;
  std::unique_ptr<grpc::Server> server_;
};

// RESOURCE_EXHAUSTED with a google.rpc.RetryInfo of `delay_ms`.
grpc::Status FullWithRetryInfo(int delay_ms);

}  // namespace keysieve::client
