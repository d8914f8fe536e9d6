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

// What one epoch runs with, beside its buffers.
struct EpochPlan {
  uint32_t epoch = 0;
  SlotRange range;
  const Ring* ring = nullptr;
  std::array<DirectoryEntry, KS_CTL_DIRECTORY> directory{};
  const Packing* packing = nullptr;
  std::span<const TenantRules> tenants;  // one a tenant
  bool fresh_text = true;                // false: a replay; text and blobs are there already
  uint32_t hits_to_read = 0;             // records read back with the epoch
  uint32_t workgroups = 1;
};

// Lane thread only. No call but Create() and GrowHits() allocates on the device.
class BatchBuffers {
 public:
  static absl::StatusOr<std::unique_ptr<BatchBuffers>> Create(backends::Device& device,
                                                              const Geometry& geometry,
                                                              const Layout& layout);

  // Clears all device memory of the batch; the ticket must complete before any epoch.
  absl::StatusOr<backends::Ticket> SubmitClear();
  // Clears what has held text, on the host at once and on the device by a submission.
  absl::StatusOr<backends::Ticket> SubmitTextClear();
  void ClearHostText();

  // Copies the pieces' bytes into pinned memory and clears what an earlier batch left behind them.
  void StageText(std::span<const Piece> pieces, const Packing& packing,
                 backends::ThreadPool& copiers);
  // Writes control block, ring and blob table, and submits the epoch.
  absl::StatusOr<backends::Ticket> SubmitEpoch(const backends::Program& program,
                                               const backends::BufferRange& tables,
                                               const EpochPlan& plan);
  // An epoch with fresh text completed: nothing of an earlier batch is left on the device.
  void ConfirmText();
  // Reads back hit records [first, last) that an epoch left out.
  absl::StatusOr<backends::Ticket> SubmitHitRead(uint32_t first, uint32_t last);

  // Grows the hit queue to at least `records`; its content is lost. RESOURCE_EXHAUSTED leaves it
  // be.
  absl::Status GrowHits(uint32_t records);

  // As the last completed submission left them.
  std::span<const uint32_t> control_block() const;
  std::vector<Slot> ReturnedSlots(const Ring& ring, SlotRange range) const;
  std::span<const HitRecord> hits(uint32_t count) const;

  uint32_t hit_capacity() const { return hit_capacity_; }
  uint64_t resident_bytes() const;

 private:
  BatchBuffers(backends::Device& device, const Geometry& geometry, const Layout& layout)
      : device_(device),
        geometry_(geometry),
        layout_(layout),
        unified_(device.limits().unified_memory) {}

  absl::Status AllocateAll();
  void WriteControl(const EpochPlan& plan);
  void WriteBlobs(const Packing& packing);
  // The buffer a program is given: the device's own, or the pinned one where memory is unified.
  const backends::Buffer& Text() const { return *(unified_ ? text_in_ : text_); }
  const backends::Buffer& Control() const { return *(unified_ ? control_in_ : control_); }
  const backends::Buffer& Blobs() const { return *(unified_ ? blobs_in_ : blobs_); }
  const backends::Buffer& Hits() const { return *(unified_ ? hits_out_ : hits_); }
  void AddTextCopies(const EpochPlan& plan);
  void AddControlCopies(const EpochPlan& plan);
  std::array<uint32_t, KS_CONSTANTS> Constants(const EpochPlan& plan, uint64_t table_words) const;
  uint32_t* ControlIn() const;
  const uint32_t* ControlOut() const;

  backends::Device& device_;
  const Geometry geometry_;
  const Layout layout_;
  const bool unified_;
  std::unique_ptr<backends::Buffer> text_, control_, blobs_, hits_;    // device; null if unified
  std::unique_ptr<backends::Buffer> text_in_, control_in_, blobs_in_;  // pinned
  std::unique_ptr<backends::Buffer> control_out_,
      hits_out_;  // pinned; control_out_ null if unified
  uint32_t hit_capacity_ = 0;
  uint32_t host_text_end_ = KS_TEXT_LEAD;     // pinned text may be not zero before it
  uint32_t device_text_end_ = KS_TEXT_LEAD;   // device text likewise
  uint32_t cleared_text_end_ = KS_TEXT_LEAD;  // what it is once the epoch has completed
  std::vector<backends::Fill> fills_;         // of the submission being built
  std::vector<backends::Copy> uploads_;
  std::vector<backends::Copy> readbacks_;
};

}  // namespace keysieve::megakernel
