// SPDX-License-Identifier: MIT
// One bidirectional call: reads a message when the pipeline asks for one, queues replies and writes
// them one after the other. The same for Scan and Match but for the messages' types.
//
// Owns itself until gRPC says OnDone(). Its mutex is never held while the stream is called; the
// stream may hold its own while it calls here.
#pragma once

#include <grpc/grpc.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "daemon/scan_pipeline.h"
#include "daemon/transport/convert.h"
#include "daemon/transport/rpc_counters.h"
#include "daemon/transport/status_details.h"
#include "evidence/base/mutex.h"

namespace keysieve::transport {

template <typename Request, typename Reply>
class StreamReactor : public grpc::ServerBidiReactor<Request, Reply>, public pipeline::ScanSink {
 public:
  using Self = StreamReactor<Request, Reply>;

  StreamReactor(grpc::CallbackServerContext* context, RpcCounters& counters,
                RpcCounters::Method method)
      : context_(context),
        counters_(counters),
        method_(std::move(method)),
        began_(std::chrono::steady_clock::now()) {
    counters_.Started(method_);
  }

  // Opens the pipeline's stream and reads the first message, or ends the call.
  void Begin(std::shared_ptr<Self> self, pipeline::ScanPipeline& pipeline,
             pipeline::Caller caller) {
    self_ = self;
    backlog_ = pipeline.options().reply_backlog;
    now_ = pipeline.options().now;
    auto opened = pipeline.Open(self, std::move(caller));
    if (auto* failure = std::get_if<pipeline::Failure>(&opened)) return OnFailed(*failure);
    stream_ = std::get<std::shared_ptr<pipeline::ScanStream>>(std::move(opened));
    this->StartRead(&request_);
  }

  // ---- gRPC's reactions.

  void OnReadDone(bool ok) override {
    if (!ok) {
      context_->IsCancelled() ? stream_->Cancel() : stream_->HalfClose();
      return;
    }
    if (first_) {
      first_ = false;
      if (request_.has_options()) {
        Start(std::move(*request_.mutable_options()));
      } else {
        stream_->Fail(Invalid("OPTIONS_FIRST", "the first message must be the options"));
      }
    } else if (request_.has_chunks()) {
      auto chunks = FromProto(std::move(*request_.mutable_chunks()));
      request_.Clear();
      stream_->Message(std::move(chunks));
    } else if (request_.has_options()) {
      stream_->Fail(Invalid("OPTIONS_TWICE", "options belong to the first message only"));
    } else {
      stream_->Fail(Invalid("EMPTY_MESSAGE", "a message has neither options nor chunks"));
    }
  }

  void OnWriteDone(bool ok) override {
    bool drained = false;
    {
      MutexLock lock(mutex_);
      writing_ = false;
      queued_bytes_ -= current_bytes_;
      if (!ok) {
        queue_.clear();  // the call is over; OnCancel() tells the pipeline
        queued_bytes_ = 0;
      }
      drained = queued_bytes_ <= backlog_;
      Pump();
    }
    if (drained && stream_ != nullptr) stream_->RepliesDrained();
  }

  void OnCancel() override {
    if (stream_ != nullptr) stream_->Cancel();
    MutexLock lock(mutex_);
    queue_.clear();
    queued_bytes_ = writing_ ? current_bytes_ : 0;
    if (!ending_) ending_ = grpc::Status(grpc::StatusCode::CANCELLED, "the call was cancelled");
    Pump();
  }

  void OnDone() override {
    std::string code;
    {
      MutexLock lock(mutex_);
      code = CodeName(ending_ ? ending_->error_code() : grpc::StatusCode::UNKNOWN);
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began_;
    counters_.Handled(method_, code, took.count());
    const auto last = std::move(self_);  // dies here unless the pipeline still holds it
  }

  // ---- The pipeline's calls.

  void OnBlob(pipeline::BlobResult result) override {
    if constexpr (std::is_same_v<Reply, v1::ScanReply>) {
      auto reply = std::make_unique<Reply>();
      ToProto(std::move(result), reply->mutable_blob());
      Write(std::move(reply));
    }
  }
  void OnHits(const pipeline::HitsResult& result) override {
    if constexpr (std::is_same_v<Reply, v1::MatchReply>) {
      auto reply = std::make_unique<Reply>();
      ToProto(result, reply->mutable_blob());
      Write(std::move(reply));
    }
  }
  void OnAccepted(const pipeline::Accepted& accepted) override {
    auto reply = std::make_unique<Reply>();
    ToProto(accepted, reply->mutable_accepted());
    Write(std::move(reply));
  }
  void OnDone(const pipeline::Summary& summary) override {
    auto reply = std::make_unique<Reply>();
    ToProto(summary, reply->mutable_summary());
    Write(std::move(reply));
    EndWith(grpc::Status::OK);
  }
  void OnFailed(const pipeline::Failure& failure) override {
    EndWith(ToGrpcStatus(failure));
    MutexLock lock(mutex_);
    if (failure.code != absl::StatusCode::kAborted || !writing_) return;
    // The write that nobody takes would hold the status up for ever: say it past the queue.
    queue_.clear();
    grpc_call_cancel_with_status(context_->c_call(), GRPC_STATUS_ABORTED, failure.message.c_str(),
                                 nullptr);
  }
  void OnWantMore() override {
    MutexLock lock(mutex_);
    if (!finished_) this->StartRead(&request_);
  }
  uint64_t queued_bytes() const override {
    MutexLock lock(mutex_);
    return queued_bytes_;
  }
  std::optional<pipeline::Clock::time_point> stalled_since() const override {
    MutexLock lock(mutex_);
    return writing_ ? std::optional(write_since_) : std::nullopt;
  }

 private:
  static pipeline::Failure Invalid(const char* reason, const char* message) {
    return {.code = absl::StatusCode::kInvalidArgument,
            .reason = reason,
            .message = message,
            .field = "message"};
  }
  void Start(v1::ScanOptions&& options) { stream_->StartScan(FromProto(std::move(options))); }
  void Start(v1::MatchOptions&& options) { stream_->StartMatch(FromProto(std::move(options))); }

  void Write(std::unique_ptr<Reply> reply) {
    MutexLock lock(mutex_);
    if (ending_) return;
    queued_bytes_ += reply->ByteSizeLong();
    queue_.push_back(std::move(reply));
    Pump();
  }

  // The status goes out behind the replies queued so far.
  void EndWith(grpc::Status status) {
    MutexLock lock(mutex_);
    if (ending_) return;
    ending_ = std::move(status);
    Pump();
  }

  void Pump() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (writing_ || finished_) return;
    if (!queue_.empty()) {
      current_ = std::move(queue_.front());
      queue_.pop_front();
      current_bytes_ = current_->ByteSizeLong();
      writing_ = true;
      write_since_ = now_();
      this->StartWrite(current_.get());
    } else if (ending_) {
      finished_ = true;
      this->Finish(*ending_);
    }
  }

  grpc::CallbackServerContext* const context_;  // lives until OnDone()
  RpcCounters& counters_;
  const RpcCounters::Method method_;
  const std::chrono::steady_clock::time_point began_;
  std::shared_ptr<Self> self_;
  std::shared_ptr<pipeline::ScanStream> stream_;  // set before the first reaction
  uint64_t backlog_ = 0;
  std::function<pipeline::Clock::time_point()> now_;  // the pipeline's clock
  Request request_;                                   // one read at a time
  bool first_ = true;

  mutable Mutex mutex_;
  std::deque<std::unique_ptr<Reply>> queue_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<Reply> current_ ABSL_GUARDED_BY(mutex_);
  uint64_t current_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t queued_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  pipeline::Clock::time_point write_since_ ABSL_GUARDED_BY(mutex_);
  std::optional<grpc::Status> ending_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace keysieve::transport
