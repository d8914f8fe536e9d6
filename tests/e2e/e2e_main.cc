// SPDX-License-Identifier: MIT
// The tests' main. Called with --victim it is a client that sends without end and waits to be
// killed.
#include <gtest/gtest.h>

#include <cstring>

#include "tests/e2e/daemon_process.h"

namespace {

// Half of a 50 MB blob, then silence with the call open. Prints a line when it has been sent.
int Victim(const char* address) {
  const auto stub = keysieve::v1::ScanService::NewStub(keysieve::e2e::Dial(address));
  grpc::ClientContext context;
  const auto call = stub->Scan(&context);
  keysieve::v1::ScanRequest request;
  request.mutable_options();
  call->Write(request);
  const std::string part = keysieve::e2e::Filler(1 << 20, 1);
  for (uint64_t at = 0; at < (25 << 20); at += part.size()) {
    request.Clear();
    keysieve::v1::Chunk* chunk = request.mutable_chunks()->add_chunks();
    chunk->set_blob_id(1);
    if (at == 0) chunk->set_declared_size(50 << 20);
    chunk->set_offset(at);
    chunk->set_data(part);
    if (!call->Write(request)) return 1;
  }
  std::puts("sent");
  std::fflush(stdout);
  keysieve::v1::ScanReply reply;
  while (call->Read(&reply)) {
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], "--victim") == 0) return Victim(argv[2]);
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
