// SPDX-License-Identifier: MIT
// The session. Each batch is one epoch: its own slots, drained either by a launch that returns or
// by the resident program (resident_engine.h), and read, checked and replayed alike.
// epoch_session.cc publishes, dispatches and settles; collect.cc reads results and replays what
// overflowed; open.cc chooses the policy.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "megakernel/images/table_follower.h"
#include "megakernel/session.h"
#include "megakernel/session/batch_buffers.h"
#include "megakernel/session/decode_pool.h"
#include "megakernel/session/hits.h"
#include "megakernel/session/packer.h"
#include "megakernel/session/resident_engine.h"
#include "megakernel/session/ring.h"
#include "megakernel/session/table_arena.h"

namespace keysieve::megakernel {

// The programs of a session. Without `resident` each batch is a launch of `scan`; with it, only
// what is replayed is.
struct SessionImages {
  backends::Image scan;
  std::optional<backends::Image> resident;
};

class EpochSession final : public Session {
 public:
  EpochSession(backends::Device& device, const SessionOptions& options, const Layout& layout,
               SessionImages images);
  ~EpochSession() override;

  // Allocates and clears everything. Called once, before anything else.
  absl::Status Start();

  absl::StatusOr<TableHandle> LoadTable(const Table& table) override;
  absl::Status EvictTable(TableHandle handle) override;
  absl::Status SetTenant(uint32_t tenant, TenantRules rules) override;
  absl::StatusOr<BatchId> Submit(const Batch& batch) override;
  absl::Status Flush() override;
  absl::StatusOr<BatchResult> Next(backends::Clock::time_point deadline) override;
  bool ended() const override { return !ended_.ok(); }
  uint32_t batches_in_flight() const override { return static_cast<uint32_t>(order_.size()); }
  uint32_t slots_in_use() const override;
  uint32_t max_pieces() const override { return layout_.max_pieces; }
  const Geometry& geometry() const override { return options_.geometry; }
  SessionPolicy policy() const override {
    return images_.resident ? SessionPolicy::kResident : SessionPolicy::kEpoch;
  }
  std::string policy_reason() const override { return policy_reason_; }
  void ExplainPolicy(std::string reason) { policy_reason_ = std::move(reason); }
  uint64_t resident_bytes() const override;
  std::span<const uint64_t> served_bytes() const override { return served_; }
  const SessionStats& stats() const override { return stats_; }
  std::vector<std::string> TakeDebugLog() override;
  absl::Status Shutdown(backends::Clock::time_point deadline) override;

 private:
  // A batch is published, dispatched, settled when its epoch has ended, and examined when its
  // counts were read; its hits are then being decoded, unless it must be replayed in its turn.
  enum class Stage { kPublished, kDispatched, kSettled, kExamined };

  // Where a batch in flight lives. Under the epoch policy all share the session's ring; a resident
  // batch has one of its own, so that head and ring travel in one copy.
  struct Place {
    std::unique_ptr<BatchBuffers> buffers;
    std::unique_ptr<Ring> own_ring;
    Ring* ring = nullptr;
    HitScratch scratch;  // of whoever decodes the batch
  };

  struct InFlight {
    BatchId id = 0;
    TableHandle table;
    Packing packing;
    SlotRange range;          // held in the ring
    std::vector<Slot> slots;  // as published, in claim order
    Place* place = nullptr;
    BatchBuffers* buffers = nullptr;  // the place's
    bool resident = false;            // dispatched to the resident program
    Stage stage = Stage::kPublished;
    uint32_t epoch = 0;
    std::vector<TenantRules> tenants;  // as published with the epoch
    uint32_t hits_read = 0;            // records that come back with the epoch
    backends::Ticket ticket = 0;
    backends::Clock::time_point dispatched;
    absl::Status outcome;  // once settled
    uint64_t device_ns = 0;
    uint64_t counted_ns = 0;  // of device_ns: already reported as busy
    uint32_t replays = 0;
    std::vector<Slot> returned;  // once examined
    EpochCounts counts;
    bool decoding = false;            // given to the decoders, or decoded where it was
    std::atomic<bool> decoded{true};  // false while a decoder has it
    absl::StatusOr<PieceHits> hits = PieceHits();
  };

  // A range to scan again, with the hits it had last time. One that is too much for a slot or for
  // the hit queue is halved first.
  struct ReplayRange {
    Unit unit;
    uint64_t hits = 0;
    bool halve = false;
  };

  // epoch_session.cc
  absl::Status OpenEngine(const Layout& layout);
  absl::Status ClearAll();
  absl::Status UploadTable(uint32_t at, std::span<const uint32_t> words);
  std::vector<Slot> SlotsFor(TableHandle table, std::span<const Unit> units, uint32_t readable);
  uint32_t NextEpoch();
  void Dispatch(InFlight& batch);
  absl::Status StageText(InFlight& batch, const Batch& given);
  EpochPlan PlanFor(const InFlight& batch, SlotRange range, bool fresh_text) const;
  absl::Status Await(backends::Ticket ticket, backends::Clock::time_point started,
                     backends::Clock::time_point deadline, uint64_t* kernel_ns);
  absl::Status AwaitAnswer(InFlight& batch, backends::Clock::time_point deadline);
  absl::Status Judge(const absl::Status& waited, backends::Clock::time_point watchdog,
                     backends::Clock::time_point deadline);
  absl::Status Settle(InFlight& batch, backends::Clock::time_point deadline);
  absl::Status SettleAll(backends::Clock::time_point deadline);
  void Drop(bool residual);
  absl::Status End(absl::Status why);
  backends::Clock::time_point Forever() const { return backends::Clock::time_point::max(); }

  // collect.cc
  bool Ready(const InFlight& batch);
  void ExamineFinished();
  absl::Status Examine(InFlight& batch);
  void Decode(InFlight& batch);
  absl::Status ReadRest(InFlight& batch, uint32_t hits);
  uint64_t RoomOf(const InFlight& batch) const;
  bool Overflowed(const InFlight& batch) const;
  absl::StatusOr<BatchResult> Collect(InFlight& batch);
  EpochView ViewOf(const InFlight& batch, SlotRange range, const std::vector<Slot>& published,
                   const std::vector<Slot>& returned) const;
  absl::Status Replay(InFlight& batch, const std::vector<Slot>& returned, EpochCounts counts,
                      HitCollector& collector);
  std::vector<ReplayRange> NextGroup(std::deque<ReplayRange>& todo, const InFlight& batch) const;
  absl::Status ReplayGroup(InFlight& batch, const std::vector<ReplayRange>& group,
                           std::deque<ReplayRange>& todo, HitCollector& collector);
  absl::Status ReplayAll(InFlight& batch, HitCollector& collector);
  absl::Status FinishPutOff(InFlight& batch, HitCollector& collector);
  absl::Status RunAgain(InFlight& batch, std::deque<ReplayRange> todo, HitCollector& collector);
  static std::vector<ReplayRange> PutOffRanges(std::span<const Unit> units,
                                               std::span<const Slot> returned);
  static std::vector<ReplayRange> RangesOf(std::span<const Unit> units,
                                           std::span<const Slot> returned);
  static absl::Status TooMuch(const Unit& unit, bool cut_short);
  void CountReplay(InFlight& batch, EpochCounts counts, uint64_t room);
  absl::Status ParkEngine();
  absl::Status RunReplay(InFlight& batch, SlotRange range);
  void CountEpoch(InFlight& batch);
  void CountTenants(const EpochView& view);
  void DrainDebugLog(std::span<const uint32_t> control);
  absl::Status Integrity(absl::Status status);

  backends::Device& device_;
  const SessionOptions options_;
  const Layout layout_;
  absl::Status ended_;
  bool shut_ = false;
  std::unique_ptr<backends::Program> program_;
  std::unique_ptr<backends::Buffer> tables_;         // the arena
  std::unique_ptr<backends::Buffer> table_staging_;  // pinned
  backends::ThreadPool copiers_;                     // that stage text, this thread among them
  std::shared_ptr<TableFollower> follower_;          // the image's; may be null
  TableArena arena_;
  Ring ring_;
  const SessionImages images_;
  std::string policy_reason_;
  DecodePool decoders_;
  std::unique_ptr<ResidentEngine> engine_;  // null under the epoch policy
  std::vector<std::unique_ptr<Place>> places_;
  std::vector<Place*> idle_;
  std::deque<std::unique_ptr<InFlight>> order_;  // oldest first
  backends::Clock::time_point last_completion_;
  BatchId next_id_ = 1;
  uint32_t epoch_ = 0;
  uint32_t hits_expected_ = 4096;     // records read back with an epoch
  std::vector<TenantRules> tenants_;  // from the next epoch on
  std::vector<uint64_t> served_;      // bytes, by tenant
  SessionStats stats_;
  std::vector<std::string> debug_log_;
};

}  // namespace keysieve::megakernel
