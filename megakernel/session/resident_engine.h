// SPDX-License-Identifier: MIT
// A program that stays on the device: its memory, how a batch is published to it and answered, how
// it is parked when there is nothing to do and woken on demand. Layout and protocol:
// megakernel/resident.inl, docs/abi.md. Knows nothing of tables, pieces or hits.
//
//   auto engine = *ResidentEngine::Create(device, shape, image);
//   engine->Publish(batch, copies);            // head and text, then the ready word
//   uint64_t ns = *engine->Wait(batch, deadline);
//   auto control = engine->control_block(batch);
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "backends/device.h"
#include "megakernel/abi.h"
#include "megakernel/resident.inl"

namespace keysieve::megakernel {

// Sizes of a resident program's memory. Words are 32 bits.
struct ResidentShape {
  uint32_t batches = 0;        // at most KS_RES_READY
  uint32_t control_words = 0;  // control block and ring of one batch
  uint32_t blob_words = 0;
  uint64_t text_buffer_bytes = 0;                // lead and slack included
  uint32_t hits = 0;                             // records of one batch
  uint32_t blocks = 0;                           // workgroups that scan
  evidence::DeviceRecorder* recorder = nullptr;  // of batches that no submission carries
  std::chrono::milliseconds park_after{0};
};

// Lane thread only. Only Create() allocates.
class ResidentEngine {
 public:
  // `tables` is the arena; it outlives the engine. The program is loaded, not yet started.
  static absl::StatusOr<std::unique_ptr<ResidentEngine>> Create(backends::Device& device,
                                                                const ResidentShape& shape,
                                                                const backends::Image& image,
                                                                const backends::Buffer& tables);

  // Where a batch's head, blob table and text lie.
  const backends::Buffer& area() const { return *area_; }
  uint64_t head_at(uint32_t batch) const { return batch * area_stride_; }
  uint64_t blobs_at(uint32_t batch) const { return head_at(batch) + blobs_at_; }
  uint64_t text_at(uint32_t batch) const { return head_at(batch) + text_at_; }
  uint64_t head_bytes() const { return text_at_; }  // the head's words, control, ring and blobs
  uint64_t blobs_offset() const { return blobs_at_; }

  // The head's first words for the next Publish() of `batch`.
  void WriteHead(uint32_t* head, std::span<const uint32_t> constants, uint32_t clear_at,
                 uint32_t clear_end) const;
  // Starts or wakes the program if it is not there, and publishes `batch` behind `copies`.
  absl::Status Publish(uint32_t batch, std::span<const backends::Copy> copies);
  // The same for a small batch, whose head and text the caller wrote to the inbox: text from its
  // position 0 on, a multiple of 16 bytes each. Needs no call of the device while the program is
  // there.
  absl::Status Ring(uint32_t batch, uint32_t head_bytes, uint32_t text_bytes);
  std::byte* inbox_head(uint32_t batch) const;
  std::byte* inbox_text(uint32_t batch) const;
  bool Answered(uint32_t batch) const;
  // Nanoseconds the device spent. DEADLINE_EXCEEDED: still pending. DATA_LOSS: the device or the
  // program is gone. Wakes a program that parked before it saw the batch.
  absl::StatusOr<uint64_t> Wait(uint32_t batch, backends::Clock::time_point deadline);

  // As the answer to the last batch in this place left them.
  std::span<const uint32_t> control_words(uint32_t batch) const;
  std::span<const HitRecord> hits(uint32_t batch) const;

  // Asks the program to leave once it has done what is published, and waits: afterwards memory may
  // be freed. It comes back with the next Publish().
  absl::Status Park(backends::Clock::time_point deadline);
  bool running() const { return running_; }
  uint64_t launches() const { return launch_; }
  uint32_t heartbeat() const { return Pulse(KS_RES_PULSE_HEARTBEAT); }
  uint64_t resident_bytes() const;

 private:
  struct Published {
    uint32_t sequence = 0;
    backends::Ticket ticket = 0;  // of its copies; 0: waited for, or rung
    evidence::CopyTotals uploads;
    backends::Clock::time_point at;
  };

  ResidentEngine(backends::Device& device, const ResidentShape& shape,
                 const backends::Buffer& tables);
  absl::Status Allocate(const backends::Image& image);
  absl::Status Launch();
  // Takes notice of a program that has left; DATA_LOSS if it was not meant to.
  absl::Status Look(backends::Clock::time_point deadline);
  absl::Status Join(backends::Clock::time_point deadline);
  void Record(const Published& published, uint64_t kernel_ns,
              std::optional<uint64_t> upload_ns) const;
  uint32_t Pulse(uint32_t word) const;
  const uint32_t* Answer(uint32_t batch) const;

  backends::Device& device_;
  const ResidentShape shape_;
  const backends::Buffer& tables_;
  uint64_t blobs_at_ = 0, text_at_ = 0, area_stride_ = 0;  // bytes
  uint64_t inbox_stride_ = 0;
  uint32_t answer_stride_ = 0;  // words
  std::unique_ptr<backends::Program> program_;
  std::unique_ptr<backends::Buffer> control_, area_;                         // device
  std::unique_ptr<backends::Buffer> answers_, hits_, pulse_, inbox_, note_;  // pinned
  std::vector<Published> published_;
  uint32_t next_sequence_ = 0;
  uint32_t launch_ = 0;  // number of the current or last one
  bool running_ = false;
  backends::Ticket kernel_ = 0;
};

}  // namespace keysieve::megakernel
