// SPDX-License-Identifier: MIT
#include "megakernel/session/epoch_session.h"

#include <algorithm>
#include <cstring>
#include <thread>

#include "evidence/base/status.h"
#include "megakernel/images/images.h"

namespace keysieve::megakernel {

using backends::Clock;
using backends::MemoryKind;
using evidence::Traffic;

namespace {

constexpr uint64_t kTableStagingBytes = 1 << 20;

// The CPU backend's own threads want the cores; an accelerator's link wants more than one.
uint32_t CopyThreads(const backends::Device& device, const SessionOptions& options) {
  if (options.copy_threads != 0) return options.copy_threads;
  const backends::Identity& identity = device.identity();
  if (identity.backend == backends::BackendKind::kCpu) {
    return std::clamp(device.limits().multiprocessors / 8, 1u, 4u);
  }
  if (identity.software) return 1;
  return std::clamp(std::thread::hardware_concurrency() / 4, 1u, 4u);
}

// Decoding 8,000 hits a megabyte at the link's speed takes most cores of a large host.
uint32_t DecodeThreads(const backends::Identity& identity, const SessionOptions& options) {
  if (options.decode_threads != 0) return options.decode_threads;
  if (identity.software || identity.backend == backends::BackendKind::kCpu) return 0;
  return std::clamp(std::thread::hardware_concurrency() * 3 / 4, 1u, 12u);
}

}  // namespace

EpochSession::EpochSession(backends::Device& device, const SessionOptions& options,
                           const Layout& layout, SessionImages images)
    : device_(device),
      options_(options),
      layout_(layout),
      copiers_(CopyThreads(device, options)),
      arena_(layout.table_words),
      ring_(options.geometry.slots),
      images_(std::move(images)),
      decoders_(DecodeThreads(device.identity(), options)),
      tenants_(options.geometry.tenants),
      served_(options.geometry.tenants, 0) {}

EpochSession::~EpochSession() { (void)Shutdown(Clock::now() + options_.watchdog); }

absl::Status EpochSession::Start() {
  const Geometry& geometry = options_.geometry;
  backends::Image scan = images_.scan;
  if (options_.route != MatchRoute::kShared) follower_ = FollowTables(scan, options_.await_tuned);
  KS_ASSIGN_OR_RETURN(program_, device_.Load(scan));
  KS_ASSIGN_OR_RETURN(tables_, device_.Allocate(MemoryKind::kTable, geometry.table_bytes));
  KS_ASSIGN_OR_RETURN(table_staging_, device_.Allocate(MemoryKind::kPinned, kTableStagingBytes));
  // A resident batch's ring holds its own slots and no others.
  Geometry own = geometry;
  if (images_.resident) own.slots = layout_.slots_per_batch + geometry.tenants;
  Layout layout = layout_;
  layout.control_words = layout.ring_at + own.slots * KS_SLOT_WORDS;
  if (images_.resident) KS_RETURN_IF_ERROR(OpenEngine(layout));
  for (uint32_t i = 0; i < geometry.batches; ++i) {
    auto place = std::make_unique<Place>();
    KS_ASSIGN_OR_RETURN(place->buffers,
                        BatchBuffers::Create(device_, own, layout, engine_.get(), i));
    if (images_.resident) place->own_ring = std::make_unique<Ring>(own.slots);
    place->ring = place->own_ring != nullptr ? place->own_ring.get() : &ring_;
    idle_.push_back(place.get());
    places_.push_back(std::move(place));
  }
  return ClearAll();
}

absl::Status EpochSession::OpenEngine(const Layout& layout) {
  const Geometry& geometry = options_.geometry;
  if (geometry.batches > KS_RES_READY) {
    return absl::InvalidArgumentError(Cat("geometry.batches is ", geometry.batches,
                                          "; a resident program takes at most ", KS_RES_READY));
  }
  if (layout.text_buffer_bytes > uint64_t{1} << KS_HIT_TAG_SHIFT) {
    return absl::InvalidArgumentError(Cat("geometry.batch_bytes is ", geometry.batch_bytes,
                                          "; a resident program takes less than ",
                                          uint64_t{1} << KS_HIT_TAG_SHIFT));
  }
  const uint32_t all = std::max(device_.limits().multiprocessors, 8u);
  const ResidentShape shape{
      .batches = geometry.batches,
      .control_words = layout.control_words,
      .blob_words = layout.blob_words,
      .text_buffer_bytes = layout.text_buffer_bytes,
      .hits = geometry.hits_per_batch,
      .blocks = options_.resident_blocks != 0 ? options_.resident_blocks : all / 4,
      .recorder = options_.recorder,
      .park_after = options_.park_after};
  KS_ASSIGN_OR_RETURN(engine_, ResidentEngine::Create(device_, shape, *images_.resident, *tables_));
  return absl::OkStatus();
}

absl::Status EpochSession::ClearAll() {
  for (const auto& place : places_) {
    KS_ASSIGN_OR_RETURN(const backends::Ticket ticket, place->buffers->SubmitClear());
    KS_RETURN_IF_ERROR(Await(ticket, Clock::now(), Forever(), nullptr));
  }
  return absl::OkStatus();
}

uint64_t EpochSession::resident_bytes() const {
  if (tables_ == nullptr) return 0;
  uint64_t total = tables_->size() + table_staging_->size();
  if (engine_ != nullptr) total += engine_->resident_bytes();
  for (const auto& place : places_) total += place->buffers->resident_bytes();
  return total;
}

uint32_t EpochSession::slots_in_use() const {
  uint32_t used = ring_.size() - ring_.free();
  for (const auto& place : places_) {
    if (place->own_ring != nullptr) used += place->own_ring->size() - place->own_ring->free();
  }
  return used;
}

// ---- tables ----

absl::StatusOr<TableHandle> EpochSession::LoadTable(const Table& table) {
  if (ended()) return ended_;
  KS_ASSIGN_OR_RETURN(const Table checked, ValidateTable(table.words));
  // The arena is one buffer, and submissions in flight must not share one that is written.
  KS_RETURN_IF_ERROR(SettleAll(Forever()));
  KS_ASSIGN_OR_RETURN(const TableHandle handle, arena_.Claim(checked));
  const absl::Status uploaded = UploadTable(arena_.resident(handle.id).at, checked.words);
  if (!uploaded.ok()) {
    (void)arena_.Evict(handle);
    return uploaded;
  }
  if (follower_ != nullptr) follower_->Loaded(handle.generation, checked);
  return handle;
}

absl::Status EpochSession::UploadTable(uint32_t at, std::span<const uint32_t> words) {
  const auto bytes = std::as_bytes(words);
  for (uint64_t done = 0; done < bytes.size();) {
    const uint64_t size = std::min<uint64_t>(bytes.size() - done, table_staging_->size());
    std::memcpy(table_staging_->host(), bytes.data() + done, size);
    const backends::Copy copy{.from = {table_staging_.get(), 0, size},
                              .to = {tables_.get(), uint64_t{at} * 4 + done, size},
                              .traffic = Traffic::kTable};
    KS_ASSIGN_OR_RETURN(const backends::Ticket ticket,
                        device_.Submit({.uploads = std::span(&copy, 1)}));
    KS_RETURN_IF_ERROR(Await(ticket, Clock::now(), Forever(), nullptr));
    done += size;
  }
  return absl::OkStatus();
}

absl::Status EpochSession::EvictTable(TableHandle handle) {
  if (ended()) return ended_;
  KS_RETURN_IF_ERROR(arena_.Evict(handle));
  if (follower_ != nullptr) follower_->Evicted(handle.generation);
  return absl::OkStatus();
}

// ---- tenants ----

absl::Status EpochSession::SetTenant(uint32_t tenant, TenantRules rules) {
  if (tenant >= tenants_.size()) {
    return absl::InvalidArgumentError(
        Cat("tenant ", tenant, " is not below the session's ", tenants_.size(), " tenants"));
  }
  tenants_[tenant] = rules;
  return absl::OkStatus();
}

// ---- publishing and dispatching ----

std::vector<Slot> EpochSession::SlotsFor(TableHandle table, std::span<const Unit> units,
                                         uint32_t readable) {
  std::vector<Slot> slots;
  slots.reserve(units.size());
  for (const Unit& unit : units) {
    Slot slot;
    slot.status = KS_STATE_PUBLISHED;
    slot.opcode = KS_OP_SCAN;
    slot.tenant = unit.tenant;
    slot.epoch = epoch_;
    slot.table = table.id;
    slot.generation = table.generation;
    slot.begin = unit.begin;
    slot.end = unit.end;
    slot.readable = readable;
    slot.limits = layout_.step_limit;
    slots.push_back(slot);
  }
  return slots;
}

uint32_t EpochSession::NextEpoch() {
  if (++epoch_ == 0) epoch_ = 1;
  return epoch_;
}

absl::StatusOr<BatchId> EpochSession::Submit(const Batch& batch) {
  if (ended()) return ended_;
  KS_RETURN_IF_ERROR(arena_.Find(batch.table).status());
  KS_ASSIGN_OR_RETURN(Packing packing, Pack(batch.pieces, options_.geometry, layout_));
  if (idle_.empty()) {
    return absl::ResourceExhaustedError(
        Cat("all ", places_.size(), " batches are in flight; take a result first"));
  }
  auto flight = std::make_unique<InFlight>();
  flight->epoch = NextEpoch();
  flight->slots = SlotsFor(batch.table, packing.units, packing.text_end);
  flight->packing = std::move(packing);
  flight->place = idle_.back();
  flight->buffers = flight->place->buffers.get();
  KS_RETURN_IF_ERROR(StageText(*flight, batch));
  KS_ASSIGN_OR_RETURN(flight->range, flight->place->ring->Publish(flight->slots));
  idle_.pop_back();
  flight->id = next_id_++;
  flight->table = batch.table;
  arena_.Hold(batch.table);
  if (batch.attempt > 0 && options_.recorder != nullptr) options_.recorder->Retried(batch.attempt);
  order_.push_back(std::move(flight));
  return order_.back()->id;
}

absl::Status EpochSession::StageText(InFlight& batch, const Batch& given) {
  if (given.pinned == nullptr) {
    batch.buffers->StageText(given.pieces, batch.packing, copiers_);
    return absl::OkStatus();
  }
  if (batch.buffers->BorrowText(given.pieces, batch.packing, *given.pinned)) {
    // Where memory is unified the program reads the batch's own: text must come there anyway.
    if (device_.limits().unified_memory) {
      batch.buffers->StageText(given.pieces, batch.packing, copiers_);
    }
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      Cat("a piece lies outside the batch's pinned buffer of ", given.pinned->size(), " bytes"));
}

EpochPlan EpochSession::PlanFor(const InFlight& batch, SlotRange range, bool fresh_text) const {
  EpochPlan plan;
  plan.epoch = batch.epoch;
  plan.range = range;
  plan.table = batch.table.id;
  plan.ring = batch.place->ring;
  plan.directory = arena_.Directory();
  plan.packing = &batch.packing;
  plan.tenants = batch.tenants;
  plan.fresh_text = fresh_text;
  plan.hits_to_read = batch.hits_read;
  // A workgroup with several workers fills a multiprocessor and loops until no slot is left.
  const uint32_t workers = WorkersOf(images_.scan);
  const uint32_t fill = device_.limits().multiprocessors;
  const uint32_t limit = device_.limits().max_workgroups;
  const uint32_t most = std::max(workers > 1 && fill != 0 ? std::min(limit, fill) : limit, 1u);
  plan.workgroups = std::min((range.count + workers - 1) / workers, most);
  plan.claims = (range.count + plan.workgroups - 1) / plan.workgroups;
  return plan;
}

void EpochSession::Dispatch(InFlight& batch) {
  batch.dispatched = Clock::now();
  batch.tenants = tenants_;
  batch.stage = Stage::kSettled;
  if (batch.range.count == 0) return;  // no text: the result is known
  if (engine_ != nullptr) {
    EpochPlan plan = PlanFor(batch, batch.range, true);
    plan.claims = batch.range.count;
    batch.outcome = batch.buffers->PublishEpoch(plan, tables_->size() / 4);
    stats_.launches = engine_->launches();
    batch.resident = batch.outcome.ok();
    if (batch.resident) batch.stage = Stage::kDispatched;
    return;
  }
  batch.hits_read = std::min(hits_expected_, batch.buffers->hit_capacity());
  const auto ticket = batch.buffers->SubmitEpoch(*program_, {tables_.get(), 0, tables_->size()},
                                                 PlanFor(batch, batch.range, true));
  if (!ticket.ok()) {
    batch.outcome = ticket.status();
    return;
  }
  batch.ticket = *ticket;
  batch.stage = Stage::kDispatched;
}

absl::Status EpochSession::Flush() {
  if (ended()) return ended_;
  for (const auto& batch : order_) {
    if (batch->stage != Stage::kPublished) continue;
    Dispatch(*batch);
    if (absl::IsDataLoss(batch->outcome)) return End(batch->outcome);
  }
  return absl::OkStatus();
}

// ---- waiting ----

// Waits until `deadline` or until the watchdog, which counts from when the device came to this
// work. Ends the session when the watchdog expires or the device is lost.
absl::Status EpochSession::Await(backends::Ticket ticket, Clock::time_point started,
                                 Clock::time_point deadline, uint64_t* kernel_ns) {
  const Clock::time_point watchdog = std::max(started, last_completion_) + options_.watchdog;
  const auto times = device_.Wait(ticket, std::min(deadline, watchdog));
  if (times.ok() && kernel_ns != nullptr) *kernel_ns += times->kernel_ns.value_or(0);
  return Judge(times.status(), watchdog, deadline);
}

// The same for a batch that the resident program has.
absl::Status EpochSession::AwaitAnswer(InFlight& batch, Clock::time_point deadline) {
  const Clock::time_point watchdog =
      std::max(batch.dispatched, last_completion_) + options_.watchdog;
  const auto ns = engine_->Wait(batch.buffers->index(), std::min(deadline, watchdog));
  stats_.launches = engine_->launches();
  if (ns.ok()) batch.device_ns += *ns;
  return Judge(ns.status(), watchdog, deadline);
}

absl::Status EpochSession::Judge(const absl::Status& waited, Clock::time_point watchdog,
                                 Clock::time_point deadline) {
  if (waited.ok()) last_completion_ = Clock::now();
  if (absl::IsDeadlineExceeded(waited) && watchdog <= deadline) {
    return End(absl::DeadlineExceededError(Cat(
        "the device has not completed an epoch within the watchdog's ", options_.watchdog.count(),
        " ms: ", Message(waited), "; it is abandoned, restart to use it again")));
  }
  if (absl::IsDataLoss(waited)) return End(waited);
  return waited;
}

absl::Status EpochSession::Settle(InFlight& batch, Clock::time_point deadline) {
  if (batch.stage == Stage::kPublished) Dispatch(batch);
  if (batch.stage == Stage::kExamined) return absl::OkStatus();
  if (batch.stage == Stage::kSettled) {
    return absl::IsDataLoss(batch.outcome) ? End(batch.outcome) : absl::OkStatus();
  }
  const absl::Status waited =
      batch.resident ? AwaitAnswer(batch, deadline)
                     : Await(batch.ticket, batch.dispatched, deadline, &batch.device_ns);
  if (ended()) return ended_;  // `batch` is gone
  if (absl::IsDeadlineExceeded(waited)) return waited;
  if (waited.ok()) batch.buffers->ConfirmText();
  batch.outcome = waited;
  batch.stage = Stage::kSettled;
  return absl::OkStatus();
}

absl::Status EpochSession::SettleAll(Clock::time_point deadline) {
  for (size_t i = 0; i < order_.size(); ++i) {
    if (order_[i]->stage != Stage::kDispatched) continue;
    KS_RETURN_IF_ERROR(Settle(*order_[i], deadline));
  }
  return absl::OkStatus();
}

// Gives the oldest batch's slots, buffers and table back.
void EpochSession::Drop(bool residual) {
  InFlight& batch = *order_.front();
  while (!batch.decoded.load(std::memory_order_acquire)) std::this_thread::yield();
  (void)batch.place->ring->Release(batch.range);
  idle_.push_back(batch.place);
  arena_.Leave(batch.table);
  if (residual && options_.recorder != nullptr) options_.recorder->ResidualBatch();
  order_.pop_front();
}

absl::Status EpochSession::End(absl::Status why) {
  device_.Abandon();
  ended_ = std::move(why);
  while (!order_.empty()) Drop(true);
  return ended_;
}

absl::StatusOr<BatchResult> EpochSession::Next(Clock::time_point deadline) {
  if (ended()) return ended_;
  if (order_.empty()) return absl::NotFoundError("no batch is in flight");
  KS_RETURN_IF_ERROR(Flush());
  ExamineFinished();
  if (ended()) return ended_;
  InFlight& batch = *order_.front();
  KS_RETURN_IF_ERROR(Settle(batch, deadline));
  if (!batch.outcome.ok()) {
    const absl::Status outcome = batch.outcome;
    Drop(true);
    return outcome;
  }
  absl::StatusOr<BatchResult> result = Collect(batch);
  if (ended()) return ended_;
  Drop(!result.ok());
  return result;
}

absl::Status EpochSession::Shutdown(Clock::time_point deadline) {
  if (shut_) return absl::OkStatus();
  shut_ = true;
  if (!ended() && device_.health() == backends::Health::kLost) {
    // The lane gave the device up: nothing here may touch it again.
    ended_ = absl::DataLossError("the device was given up");
  }
  absl::Status drained = ended_;
  if (!ended()) {
    drained = SettleAll(deadline);
    if (absl::IsDeadlineExceeded(drained) && !ended()) drained = End(drained);
  }
  while (!order_.empty()) Drop(false);
  if (engine_ != nullptr && !ended()) {
    // Nothing may be freed under a program that stays.
    const absl::Status parked = engine_->Park(Clock::now() + options_.watchdog);
    if (!parked.ok()) drained = End(parked);
  }
  for (const auto& place : places_) {
    if (ended()) {
      place->buffers->ClearHostText();
      continue;
    }
    const auto ticket = place->buffers->SubmitTextClear();
    if (ticket.ok()) (void)Await(*ticket, Clock::now(), Forever(), nullptr);
  }
  if (!ended()) ended_ = absl::FailedPreconditionError("the session was shut down");
  idle_.clear();
  places_.clear();
  engine_.reset();
  table_staging_.reset();
  tables_.reset();
  program_.reset();
  return drained;
}

}  // namespace keysieve::megakernel
