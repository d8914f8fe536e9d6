// SPDX-License-Identifier: MIT
// The synchronous API: a stream of the client has two threads of its own anyway. Replies are read
// as bytes and parsed here: gRPC takes a reply it cannot parse for the stream's end, and then waits
// for an end that never comes.
#include "daemon/client/blob_stream.h"

#include <grpcpp/client_context.h>
#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/impl/rpc_method.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/proto_buffer_reader.h>
#include <grpcpp/support/sync_stream.h>

#include <cstdlib>
#include <iterator>
#include <utility>

namespace keysieve::client {
namespace {

template <typename T>
std::vector<T> TakeAll(google::protobuf::RepeatedPtrField<T>* field) {
  return std::vector<T>(std::make_move_iterator(field->begin()),
                        std::make_move_iterator(field->end()));
}

StreamReply Translate(v1::ScanReply* from) {
  StreamReply reply;
  if (from->has_accepted()) {
    v1::Accepted& accepted = *from->mutable_accepted();
    reply.accepted = AcceptedStream{accepted.limits(),
                                    accepted.scan_id(),
                                    accepted.rule_set(),
                                    accepted.rule_digest(),
                                    accepted.daemon_version(),
                                    {},
                                    TakeAll(accepted.mutable_warnings())};
  } else if (from->has_blob()) {
    v1::BlobResult& blob = *from->mutable_blob();
    reply.blob.emplace();
    reply.blob->blob_id = blob.blob_id();
    reply.blob->findings = TakeAll(blob.mutable_findings());
    reply.blob->receipt = std::move(*blob.mutable_receipt());
  } else if (from->has_summary()) {
    reply.summary = std::move(*from->mutable_summary());
  }
  return reply;
}

StreamReply Translate(v1::MatchReply* from) {
  StreamReply reply;
  if (from->has_accepted()) {
    v1::MatchAccepted& accepted = *from->mutable_accepted();
    reply.accepted = AcceptedStream{accepted.limits(),
                                    accepted.scan_id(),
                                    "",
                                    accepted.table_digest(),
                                    "",
                                    TakeAll(accepted.mutable_patterns()),
                                    {}};
  } else if (from->has_blob()) {
    v1::MatchBlob& blob = *from->mutable_blob();
    reply.blob.emplace();
    reply.blob->blob_id = blob.blob_id();
    reply.blob->last = blob.last();
    reply.blob->matches = TakeAll(blob.mutable_matches());
    reply.blob->receipt = std::move(*blob.mutable_receipt());
  } else if (from->has_summary()) {
    reply.summary = std::move(*from->mutable_summary());
  }
  return reply;
}

// Tools that trace CI jobs leave the W3C trace context here; the daemon's log then names the trace.
void AddTrace(grpc::ClientContext* context) {
  const char* text = std::getenv("TRACEPARENT");
  if (text == nullptr) return;
  const std::string trace = text;
  constexpr size_t kLength = 55;  // version, trace id, parent id and flags
  if (trace.size() != kLength || trace.find_first_not_of("0123456789abcdef-") != trace.npos) return;
  context->AddMetadata("traceparent", trace);
}

struct ScanTypes {
  using Options = v1::ScanOptions;
  using Request = v1::ScanRequest;
  using Reply = v1::ScanReply;
  static constexpr char kMethod[] = "/keysieve.v1.ScanService/Scan";
};

struct MatchTypes {
  using Options = v1::MatchOptions;
  using Request = v1::MatchRequest;
  using Reply = v1::MatchReply;
  static constexpr char kMethod[] = "/keysieve.v1.ScanService/Match";
};

template <typename Types>
class TypedStream : public BlobStream {
 public:
  TypedStream(const typename Types::Options& options, std::shared_ptr<grpc::Channel> channel,
              Deadline deadline)
      : options_(options), channel_(std::move(channel)) {
    if (deadline) context_.set_deadline(*deadline);
    AddTrace(&context_);
    using grpc::internal::RpcMethod;
    stream_.reset(
        grpc::internal::ClientReaderWriterFactory<typename Types::Request, grpc::ByteBuffer>::
            Create(channel_.get(), RpcMethod(Types::kMethod, RpcMethod::BIDI_STREAMING),
                   &context_));
  }

  bool WriteOptions() override {
    typename Types::Request request;
    *request.mutable_options() = options_;
    return stream_->Write(request);
  }
  v1::ChunkBatch& batch() override { return *request_.mutable_chunks(); }
  bool WriteBatch() override {
    const bool written = stream_->Write(request_);
    request_.mutable_chunks()->Clear();
    return written;
  }
  void WritesDone() override { stream_->WritesDone(); }
  bool Read(StreamReply* reply) override {
    grpc::ByteBuffer bytes;
    if (!stream_->Read(&bytes)) return false;
    typename Types::Reply message;
    grpc::ProtoBufferReader reader(&bytes);
    *reply = StreamReply{};
    if (message.ParseFromZeroCopyStream(&reader) && reader.status().ok()) {
      *reply = Translate(&message);
    } else {
      reply->garbled = true;
    }
    return true;
  }
  grpc::Status Finish() override { return stream_->Finish(); }
  void Cancel() override { context_.TryCancel(); }

 private:
  const typename Types::Options& options_;  // the service's
  std::shared_ptr<grpc::Channel> channel_;
  grpc::ClientContext context_;
  typename Types::Request request_;
  std::unique_ptr<grpc::ClientReaderWriter<typename Types::Request, grpc::ByteBuffer>> stream_;
};

template <typename Types>
class TypedService : public BlobService {
 public:
  explicit TypedService(typename Types::Options options) : options_(std::move(options)) {}
  std::unique_ptr<BlobStream> Open(std::shared_ptr<grpc::Channel> channel,
                                   Deadline deadline) const override {
    return std::make_unique<TypedStream<Types>>(options_, std::move(channel), deadline);
  }

 private:
  const typename Types::Options options_;
};

}  // namespace

std::unique_ptr<BlobService> MakeScanService(v1::ScanOptions options) {
  return std::make_unique<TypedService<ScanTypes>>(std::move(options));
}

std::unique_ptr<BlobService> MakeMatchService(v1::MatchOptions options) {
  return std::make_unique<TypedService<MatchTypes>>(std::move(options));
}

}  // namespace keysieve::client
