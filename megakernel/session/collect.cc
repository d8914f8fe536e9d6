// SPDX-License-Identifier: MIT
// Reading an epoch's results, and replaying what overflowed the hit queue: grown to the exact count
// as far as it may grow, and in parts of known or halved ranges past that. Never a lost hit.
#include <algorithm>
#include <thread>
#include <utility>

#include "evidence/base/status.h"
#include "megakernel/session/epoch_session.h"

namespace keysieve::megakernel {

using backends::Clock;

namespace {

constexpr size_t kMaxDebugLog = 1024;  // sentences kept between two TakeDebugLog()
constexpr uint32_t kMinHitsExpected = 1024;

std::string DebugSentence(const uint32_t* record) {
  const uint32_t code = record[KS_LOG_CODE];
  const std::string arguments = Cat(" (", record[KS_LOG_ARG0], ", ", record[KS_LOG_ARG1], ")");
  const std::string slot = Cat("slot ", record[KS_LOG_SLOT]);
  switch (code) {
    case KS_CODE_UNKNOWN_OPCODE:
      return Cat(slot, " refused: unknown opcode", arguments);
    case KS_CODE_BAD_RANGE:
      return Cat(slot, " refused: owned range outside the text", arguments);
    case KS_CODE_STALE_TABLE:
      return Cat(slot, " refused: stale table", arguments);
    case KS_CODE_BAD_TABLE:
      return Cat(slot, " refused: no table at its place", arguments);
    case KS_CODE_BAD_TENANT:
      return Cat(slot, " refused: no such tenant", arguments);
    case KS_CODE_BAD_OBSERVABLE:
      return Cat(slot, " refused: no such observable", arguments);
    case KS_CODE_BAD_ABI:
      return Cat("the program speaks another ABI version", arguments);
    default:
      return Cat(slot, " says ", code, arguments);
  }
}

absl::Status Forbidden() {
  return absl::PermissionDeniedError(
      "the batch has text of a tenant whose rules do not let it scan");
}

}  // namespace

absl::Status EpochSession::Integrity(absl::Status status) {
  if (!status.ok() && options_.recorder != nullptr) {
    options_.recorder->Fault(evidence::FaultKind::kIntegrity);
  }
  return status;
}

void EpochSession::DrainDebugLog(std::span<const uint32_t> control) {
  const uint32_t wanted = control[KS_CTL_LOG_CURSOR];
  const uint32_t kept = std::min(wanted, KS_CTL_LOG_RECORDS);
  stats_.debug_dropped += wanted - kept;
  for (uint32_t i = 0; i < kept; ++i) {
    if (debug_log_.size() >= kMaxDebugLog) {
      ++stats_.debug_dropped;
      continue;
    }
    debug_log_.push_back(DebugSentence(&control[KS_CTL_LOG_AT + i * KS_LOG_WORDS]));
  }
}

void EpochSession::CountEpoch(InFlight& batch) {
  const std::span<const uint32_t> control = batch.buffers->control_block();
  const uint32_t* observables = &control[KS_CTL_OBSERVABLES_AT];
  ++stats_.epochs;
  for (uint32_t i = 0; i < KS_OP_COUNTED; ++i) {
    stats_.opcodes[i] += observables[KS_OBS_OPCODE_AT + i];
  }
  stats_.unknown_opcodes += observables[KS_OBS_UNKNOWN];
  stats_.tuned_slots += observables[KS_OBS_TUNED];
  stats_.scanned_bytes += observables[KS_OBS_BYTES];
  const uint64_t busy_ns = uint64_t{observables[KS_OBS_BUSY]} * 64;
  stats_.busy_ns += busy_ns;
  // Where the program has no clock the kernel's own time stands for it: an epoch never polls.
  const uint64_t kernel_ns = batch.device_ns - std::exchange(batch.counted_ns, batch.device_ns);
  const uint64_t worked_ns = busy_ns != 0 ? busy_ns : kernel_ns;
  if (worked_ns != 0 && options_.recorder != nullptr) options_.recorder->Busy(worked_ns);
  DrainDebugLog(control);
}

std::vector<std::string> EpochSession::TakeDebugLog() {
  std::vector<std::string> log = std::exchange(debug_log_, {});
  if (follower_ != nullptr) {
    for (std::string& message : follower_->TakeMessages()) log.push_back(std::move(message));
  }
  return log;
}

// Of an epoch whose words were checked.
void EpochSession::CountTenants(const EpochView& view) {
  const size_t served_at = KS_CTL_TENANTS_AT + KS_TENANT_SERVED * served_.size();
  for (size_t i = 0; i < served_.size(); ++i) served_[i] += view.control[served_at + i];
  for (const Slot& slot : view.returned) stats_.requeued += PutOff(slot);
}

EpochView EpochSession::ViewOf(const InFlight& batch, SlotRange range,
                               const std::vector<Slot>& published,
                               const std::vector<Slot>& returned) const {
  return {.epoch = batch.epoch,
          .range = range,
          .ring_slots = batch.place->ring->size(),
          .published = published,
          .returned = returned,
          .control = batch.buffers->control_block(),
          .tenants = batch.tenants,
          .tagged = batch.buffers->resident_results()};
}

// ---- results ----

// Hits past those that came back with the epoch.
absl::Status EpochSession::ReadRest(InFlight& batch, uint32_t hits) {
  if (batch.buffers->resident_results() || hits <= batch.hits_read) return absl::OkStatus();
  KS_ASSIGN_OR_RETURN(const backends::Ticket ticket,
                      batch.buffers->SubmitHitRead(batch.hits_read, hits));
  return Await(ticket, Clock::now(), Forever(), nullptr);
}

// Both kinds of epoch have the same capacity at first.
uint64_t EpochSession::RoomOf(const InFlight& batch) const {
  return batch.buffers->resident_results() ? options_.geometry.hits_per_batch
                                           : batch.buffers->hit_capacity();
}

bool EpochSession::Overflowed(const InFlight& batch) const {
  return batch.counts.saturated || batch.counts.cut_short || batch.counts.hits > RoomOf(batch);
}

bool EpochSession::Ready(const InFlight& batch) {
  if (batch.stage != Stage::kDispatched) return batch.stage == Stage::kSettled;
  return batch.resident ? engine_->Answered(batch.buffers->index()) : device_.Done(batch.ticket);
}

// Gives the decoders whatever has finished, the oldest first, so that they work beside one another.
void EpochSession::ExamineFinished() {
  if (decoders_.threads() == 0 || order_.size() < 2) return;
  for (size_t i = 0; i < order_.size() && !ended(); ++i) {
    InFlight& batch = *order_[i];
    if (batch.stage == Stage::kExamined) continue;
    if (!Ready(batch) || !Settle(batch, Clock::now()).ok() || !batch.outcome.ok()) return;
    batch.outcome = Examine(batch);
  }
}

// Reads the counts of a settled batch and has its hits decoded. What does not fit, or was put off,
// waits for its turn to be run again.
absl::Status EpochSession::Examine(InFlight& batch) {
  batch.stage = Stage::kExamined;
  if (batch.range.count == 0) {
    Decode(batch);
    return absl::OkStatus();
  }
  CountEpoch(batch);
  batch.returned = batch.buffers->ReturnedSlots(*batch.place->ring, batch.range);
  const EpochView view = ViewOf(batch, batch.range, batch.slots, batch.returned);
  const auto counts = ReadCounts(view);
  if (!counts.ok()) return Integrity(counts.status());
  CountTenants(view);
  if (counts->forbidden) return Forbidden();
  batch.counts = *counts;
  // The next epoch reads back about what this one found, and a part more.
  const uint64_t wanted = counts->hits + counts->hits / 4;
  hits_expected_ = static_cast<uint32_t>(std::clamp<uint64_t>(
      std::max<uint64_t>(wanted, hits_expected_ / 2), kMinHitsExpected, layout_.max_hits));
  if (Overflowed(batch)) return absl::OkStatus();
  KS_RETURN_IF_ERROR(ReadRest(batch, static_cast<uint32_t>(counts->hits)));
  if (counts->requeued) return absl::OkStatus();
  batch.decoding = true;
  if (order_.size() < 2) {  // nothing to gain from another thread
    Decode(batch);
    return absl::OkStatus();
  }
  batch.decoded.store(false, std::memory_order_relaxed);
  decoders_.Run([this, &batch] {
    Decode(batch);
    batch.decoded.store(true, std::memory_order_release);
  });
  return absl::OkStatus();
}

// Any one thread: touches nothing but the batch and its table's lengths, which it holds.
void EpochSession::Decode(InFlight& batch) {
  HitCollector collector(batch.packing, arena_.resident(batch.table.id).lengths,
                         batch.place->scratch);
  if (batch.range.count != 0) {
    const auto records = batch.buffers->hits(static_cast<uint32_t>(batch.counts.hits));
    const absl::Status taken =
        collector.Take(ViewOf(batch, batch.range, batch.slots, batch.returned), records);
    if (!taken.ok()) {
      batch.hits = taken;
      return;
    }
  }
  batch.hits = collector.Results();
}

absl::Status EpochSession::ReplayAll(InFlight& batch, HitCollector& collector) {
  CountReplay(batch, batch.counts, RoomOf(batch));
  return Replay(batch, batch.returned, batch.counts, collector);
}

// Takes what the epoch found and runs what a quota put off in epochs of its own.
absl::Status EpochSession::FinishPutOff(InFlight& batch, HitCollector& collector) {
  const auto records = batch.buffers->hits(static_cast<uint32_t>(batch.counts.hits));
  KS_RETURN_IF_ERROR(
      Integrity(collector.Take(ViewOf(batch, batch.range, batch.slots, batch.returned), records)));
  const std::vector<ReplayRange> put_off = PutOffRanges(batch.packing.units, batch.returned);
  return RunAgain(batch, {put_off.begin(), put_off.end()}, collector);
}

absl::StatusOr<BatchResult> EpochSession::Collect(InFlight& batch) {
  if (batch.stage == Stage::kSettled) KS_RETURN_IF_ERROR(Examine(batch));
  if (ended()) return ended_;
  if (batch.range.count != 0 && !batch.decoding) {
    HitCollector collector(batch.packing, arena_.resident(batch.table.id).lengths,
                           batch.place->scratch);
    KS_RETURN_IF_ERROR(Overflowed(batch) ? ReplayAll(batch, collector)
                                         : FinishPutOff(batch, collector));
    batch.hits = collector.Results();
  }
  while (!batch.decoded.load(std::memory_order_acquire)) {
    ExamineFinished();
    if (ended()) return ended_;
    std::this_thread::sleep_for(std::chrono::microseconds(5));
  }
  if (!batch.hits.ok()) return Integrity(batch.hits.status());
  BatchResult result;
  result.id = batch.id;
  result.hits = *std::move(batch.hits);
  result.device_ns = batch.device_ns;
  result.replays = batch.replays;
  return result;
}

// ---- overflow and slots cut short ----

void EpochSession::CountReplay(InFlight& batch, EpochCounts counts, uint64_t room) {
  if (counts.cut_short) ++stats_.cut_short;
  if (!counts.saturated && counts.hits <= room) return;
  ++batch.replays;
  if (options_.recorder != nullptr) options_.recorder->OverflowReplayed();
}

std::vector<EpochSession::ReplayRange> EpochSession::RangesOf(std::span<const Unit> units,
                                                              std::span<const Slot> returned) {
  std::vector<ReplayRange> ranges;
  for (size_t i = 0; i < units.size(); ++i) {
    ranges.push_back({.unit = units[i], .hits = returned[i].hits, .halve = CutShort(returned[i])});
  }
  return ranges;
}

// A quota takes at least a tenant's first slot of an epoch, so what is put off gets less each time.
std::vector<EpochSession::ReplayRange> EpochSession::PutOffRanges(std::span<const Unit> units,
                                                                  std::span<const Slot> returned) {
  std::vector<ReplayRange> ranges;
  for (size_t i = 0; i < units.size(); ++i) {
    if (PutOff(returned[i])) ranges.push_back({.unit = units[i]});
  }
  return ranges;
}

absl::Status EpochSession::Replay(InFlight& batch, const std::vector<Slot>& returned,
                                  EpochCounts counts, HitCollector& collector) {
  const uint64_t wanted = counts.saturated ? layout_.max_hits : counts.hits;
  const auto room = static_cast<uint32_t>(std::min<uint64_t>(wanted, layout_.max_hits));
  // Allocating may wait for whatever runs on the device.
  if (engine_ != nullptr) KS_RETURN_IF_ERROR(ParkEngine());
  const absl::Status grown = batch.buffers->GrowHits(room);
  if (!grown.ok() && batch.buffers->hit_capacity() < kMaxLiterals) return grown;
  const std::vector<ReplayRange> ranges = RangesOf(batch.packing.units, returned);
  return RunAgain(batch, {ranges.begin(), ranges.end()}, collector);
}

absl::Status EpochSession::RunAgain(InFlight& batch, std::deque<ReplayRange> todo,
                                    HitCollector& collector) {
  if (engine_ != nullptr && !todo.empty()) KS_RETURN_IF_ERROR(ParkEngine());
  while (!todo.empty()) {
    KS_RETURN_IF_ERROR(ReplayGroup(batch, NextGroup(todo, batch), todo, collector));
  }
  return absl::OkStatus();
}

absl::Status EpochSession::ParkEngine() {
  const absl::Status parked = engine_->Park(Clock::now() + options_.watchdog);
  return parked.ok() ? parked : End(parked);
}

// As many ranges as the held slots and, for all that is known, the hit queue take.
std::vector<EpochSession::ReplayRange> EpochSession::NextGroup(std::deque<ReplayRange>& todo,
                                                               const InFlight& batch) const {
  const uint64_t capacity = batch.buffers->hit_capacity();
  std::vector<ReplayRange> group;
  uint64_t hits = 0;
  while (!todo.empty() && group.size() < batch.range.count) {
    const ReplayRange next = todo.front();
    if ((next.halve || next.hits > capacity) && next.unit.end - next.unit.begin > 1) {
      const uint32_t middle = next.unit.begin + (next.unit.end - next.unit.begin) / 2;
      todo.front() = {{middle, next.unit.end, next.unit.tenant}};
      todo.push_front({{next.unit.begin, middle, next.unit.tenant}});
      continue;
    }
    if (!group.empty() && hits + next.hits > capacity) break;
    group.push_back(next);
    todo.pop_front();
    hits += next.hits;
  }
  return group;
}

absl::Status EpochSession::RunReplay(InFlight& batch, SlotRange range) {
  batch.hits_read = std::min(batch.buffers->hit_capacity(), hits_expected_);
  KS_ASSIGN_OR_RETURN(const backends::Ticket ticket,
                      batch.buffers->SubmitEpoch(*program_, {tables_.get(), 0, tables_->size()},
                                                 PlanFor(batch, range, false)));
  KS_RETURN_IF_ERROR(Await(ticket, Clock::now(), Forever(), &batch.device_ns));
  CountEpoch(batch);
  return absl::OkStatus();
}

absl::Status EpochSession::TooMuch(const Unit& unit, bool cut_short) {
  return absl::InternalError(
      Cat("one byte of text, at ", unit.begin, " of its batch, needs more ",
          cut_short ? "steps than this device can make" : "hit records than the queue may hold",
          "; load fewer literals that match the same text"));
}

// A group whose hits do not fit or whose slots were cut short goes back to the front, in parts.
absl::Status EpochSession::ReplayGroup(InFlight& batch, const std::vector<ReplayRange>& group,
                                       std::deque<ReplayRange>& todo, HitCollector& collector) {
  std::vector<Unit> units;
  for (const ReplayRange& range : group) units.push_back(range.unit);
  batch.epoch = NextEpoch();
  batch.tenants = tenants_;
  const std::vector<Slot> slots = SlotsFor(batch.table, units, batch.packing.text_end);
  KS_ASSIGN_OR_RETURN(const SlotRange range, batch.place->ring->Republish(batch.range, slots));
  KS_RETURN_IF_ERROR(RunReplay(batch, range));
  const std::vector<Slot> returned = batch.buffers->ReturnedSlots(*batch.place->ring, range);
  const EpochView view = ViewOf(batch, range, slots, returned);
  const auto counts = ReadCounts(view);
  if (!counts.ok()) return Integrity(counts.status());
  CountTenants(view);
  if (counts->forbidden) return Forbidden();
  const bool fits = !counts->saturated && counts->hits <= batch.buffers->hit_capacity();
  if (fits && !counts->cut_short) {
    const auto hits = static_cast<uint32_t>(counts->hits);
    KS_RETURN_IF_ERROR(ReadRest(batch, hits));
    const std::vector<ReplayRange> put_off = PutOffRanges(units, returned);
    todo.insert(todo.begin(), put_off.begin(), put_off.end());
    return Integrity(collector.Take(view, batch.buffers->hits(hits)));
  }
  CountReplay(batch, *counts, batch.buffers->hit_capacity());
  std::vector<ReplayRange> again = RangesOf(units, returned);
  for (ReplayRange& part : again) {
    // Counts too large to be exact: a range at a time, so that one that does not fit is halved.
    if (counts->saturated) part.hits = batch.buffers->hit_capacity();
    part.halve = part.halve || (!fits && again.size() == 1);
    if (part.halve && part.unit.end - part.unit.begin <= 1) {
      return TooMuch(part.unit, counts->cut_short);
    }
  }
  todo.insert(todo.begin(), again.begin(), again.end());
  return absl::OkStatus();
}

}  // namespace keysieve::megakernel
