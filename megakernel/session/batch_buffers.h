// SPDX-License-Identifier: MIT
// The memory of one batch in flight: its text, control block with ring, blob table and hit queue on
// the device, and pinned memory to fill and read them. Everything mutable belongs to one batch, so
// that epochs in flight share nothing but the table arena. Where the device's memory is the host's,
// the program works in the pinned memory itself and nothing is copied.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "backends/cpu/thread_pool.h"
#include "backends/device.h"
#include "megakernel/abi.h"
#include "megakernel/geometry.h"
#include "megakernel/session/packer.h"
#include "megakernel/session/ring.h"

namespace keysieve::megakernel {

class ResidentEngine;

// Bytes of pinned memory that go to the device without being staged.
struct TextRun {
  uint64_t from = 0;      // byte of the pinned buffer
  uint32_t position = 0;  // of the text
  uint32_t bytes = 0;
};

// What one epoch runs with, beside its buffers.
struct EpochPlan {
  uint32_t epoch = 0;
  uint32_t table = 0;  // directory index
  SlotRange range;
  const Ring* ring = nullptr;
  std::array<DirectoryEntry, KS_CTL_DIRECTORY> directory{};
  const Packing* packing = nullptr;
  std::span<const TenantRules> tenants;  // one a tenant
  bool fresh_text = true;                // false: a replay; text and blobs are there already
  uint32_t hits_to_read = 0;             // records read back with the epoch
  uint32_t workgroups = 1;
  uint32_t claims = 1;  // of each that works on slots
};

// Lane thread only. No call but Create() and GrowHits() allocates on the device.
class BatchBuffers {
 public:
  // With an engine, text and blob table lie in its area, in place `index`; it outlives the buffers.
  static absl::StatusOr<std::unique_ptr<BatchBuffers>> Create(backends::Device& device,
                                                              const Geometry& geometry,
                                                              const Layout& layout,
                                                              ResidentEngine* engine = nullptr,
                                                              uint32_t index = 0);

  // Clears all device memory of the batch; the ticket must complete before any epoch.
  absl::StatusOr<backends::Ticket> SubmitClear();
  // Clears what has held text, on the host at once and on the device by a submission.
  absl::StatusOr<backends::Ticket> SubmitTextClear();
  void ClearHostText();

  // Copies the pieces' bytes into pinned memory and clears what an earlier batch left behind them.
  void StageText(std::span<const Piece> pieces, const Packing& packing,
                 backends::ThreadPool& copiers);
  // Instead: the text is copied from `pinned`, where the caller keeps it. False if the pieces do
  // not lie in it.
  bool BorrowText(std::span<const Piece> pieces, const Packing& packing,
                  const backends::Buffer& pinned);
  // Writes control block, ring and blob table, and submits the epoch.
  absl::StatusOr<backends::Ticket> SubmitEpoch(const backends::Program& program,
                                               const backends::BufferRange& tables,
                                               const EpochPlan& plan);
  // The same by the resident program, whose hits and control words are then the batch's.
  absl::Status PublishEpoch(const EpochPlan& plan, uint64_t table_words);
  // True while the results are the resident program's, whose records are tagged.
  bool resident_results() const { return resident_results_; }
  uint32_t index() const { return index_; }
  // An epoch with fresh text completed: nothing of an earlier batch is left on the device.
  void ConfirmText();
  // Reads back hit records [first, last) that an epoch left out.
  absl::StatusOr<backends::Ticket> SubmitHitRead(uint32_t first, uint32_t last);

  // Grows the hit queue to at least `records`; its content is lost. RESOURCE_EXHAUSTED leaves it
  // be.
  absl::Status GrowHits(uint32_t records);

  // As the last completed epoch left them.
  std::span<const uint32_t> control_block() const;
  std::vector<Slot> ReturnedSlots(const Ring& ring, SlotRange range) const;
  std::span<const HitRecord> hits(uint32_t count) const;

  uint32_t hit_capacity() const { return hit_capacity_; }  // of epochs that are submitted
  uint64_t resident_bytes() const;

 private:
  BatchBuffers(backends::Device& device, const Geometry& geometry, const Layout& layout,
               ResidentEngine* engine, uint32_t index)
      : device_(device),
        geometry_(geometry),
        layout_(layout),
        engine_(engine),
        index_(index),
        unified_(engine == nullptr && device.limits().unified_memory) {}

  absl::Status AllocateAll();
  void WriteControl(const EpochPlan& plan, uint32_t* control) const;
  uint64_t WriteBlobs(const Packing& packing, std::byte* blobs) const;  // bytes written
  // The buffer a program is given: the device's own, or the pinned one where memory is unified.
  const backends::Buffer& Text() const { return *(unified_ ? text_in_ : text_); }
  const backends::Buffer& Control() const { return *(unified_ ? control_in_ : control_); }
  const backends::Buffer& Blobs() const { return *(unified_ ? blobs_in_ : blobs_); }
  const backends::Buffer& Hits() const { return *(unified_ ? hits_out_ : hits_); }
  void AddTextRuns(const Packing& packing);
  absl::Status RingEpoch(const Packing& packing, uint64_t head_bytes);
  void AddTextCopies(const EpochPlan& plan);
  backends::BufferRange TextRange(uint64_t begin, uint64_t end) const;
  backends::BufferRange BlobRange(uint64_t bytes) const;
  void AddControlCopies(const EpochPlan& plan);
  std::array<uint32_t, KS_CONSTANTS> Constants(const EpochPlan& plan, uint64_t table_words) const;
  uint32_t* ControlIn() const;
  const uint32_t* ControlOut() const;

  backends::Device& device_;
  const Geometry geometry_;
  const Layout layout_;
  ResidentEngine* const engine_;  // may be null
  const uint32_t index_;          // place in its area
  const bool unified_;            // then the device's buffers and control_out_ are null
  std::unique_ptr<backends::Buffer> text_, control_, blobs_, hits_;     // device
  std::unique_ptr<backends::Buffer> text_in_, control_in_, blobs_in_;   // pinned
  std::unique_ptr<backends::Buffer> control_out_, hits_out_, head_in_;  // pinned
  bool resident_results_ = false;
  const backends::Buffer* borrowed_ = nullptr;  // where the text lies if it was not staged
  std::vector<TextRun> runs_;
  uint32_t hit_capacity_ = 0;
  uint32_t inbox_text_end_ = 0;               // inbox text may be not zero before it
  uint32_t host_text_end_ = KS_TEXT_LEAD;     // pinned text may be not zero before it
  uint32_t device_text_end_ = KS_TEXT_LEAD;   // device text likewise
  uint32_t cleared_text_end_ = KS_TEXT_LEAD;  // what it is once the epoch has completed
  std::vector<backends::Fill> fills_;         // of the submission being built
  std::vector<backends::Copy> uploads_;
  std::vector<backends::Copy> readbacks_;
};

}  // namespace keysieve::megakernel
