// SPDX-License-Identifier: MIT
#include "megakernel/session/batch_buffers.h"

#include <algorithm>
#include <cstring>

#include "evidence/base/status.h"
#include "megakernel/session/hits.h"
#include "megakernel/session/resident_engine.h"

namespace keysieve::megakernel {

using backends::Buffer;
using backends::BufferRange;
using backends::Copy;
using backends::MemoryKind;
using evidence::Traffic;

namespace {

uint32_t RoundUp4(uint32_t n) { return (n + 3) / 4 * 4; }

BufferRange Whole(const Buffer& buffer) { return {&buffer, 0, buffer.size()}; }

Copy Between(const Buffer& from, const Buffer& to, uint64_t offset, uint64_t bytes,
             Traffic traffic) {
  return {.from = {&from, offset, bytes}, .to = {&to, offset, bytes}, .traffic = traffic};
}

}  // namespace

absl::StatusOr<std::unique_ptr<BatchBuffers>> BatchBuffers::Create(backends::Device& device,
                                                                   const Geometry& geometry,
                                                                   const Layout& layout,
                                                                   ResidentEngine* engine,
                                                                   uint32_t index) {
  auto buffers =
      std::unique_ptr<BatchBuffers>(new BatchBuffers(device, geometry, layout, engine, index));
  KS_RETURN_IF_ERROR(buffers->AllocateAll());
  return buffers;
}

absl::Status BatchBuffers::AllocateAll() {
  const uint64_t control_bytes = uint64_t{layout_.control_words} * 4;
  const uint64_t blob_bytes = uint64_t{layout_.blob_words} * 4;
  const uint64_t hit_bytes = uint64_t{geometry_.hits_per_batch} * sizeof(HitRecord);
  struct Want {
    std::unique_ptr<Buffer>* buffer;
    MemoryKind kind;
    uint64_t bytes;
    bool if_unified = false;
  };
  const uint64_t own = engine_ == nullptr ? 1 : 0;  // otherwise these lie in the engine's area
  const uint64_t head_bytes = engine_ == nullptr ? 0 : engine_->head_bytes();
  const Want wants[] = {{&text_, MemoryKind::kDevice, own * layout_.text_buffer_bytes},
                        {&control_, MemoryKind::kDevice, control_bytes},
                        {&blobs_, MemoryKind::kDevice, own * blob_bytes},
                        {&head_in_, MemoryKind::kPinned, head_bytes},
                        {&hits_, MemoryKind::kDevice, hit_bytes},
                        {&text_in_, MemoryKind::kPinned, layout_.text_buffer_bytes, true},
                        {&control_in_, MemoryKind::kPinned, control_bytes, true},
                        {&blobs_in_, MemoryKind::kPinned, blob_bytes, true},
                        {&control_out_, MemoryKind::kPinned, control_bytes},
                        {&hits_out_, MemoryKind::kPinned, hit_bytes, true}};
  for (const Want& want : wants) {
    if (want.bytes == 0 || (unified_ && !want.if_unified)) continue;
    KS_ASSIGN_OR_RETURN(*want.buffer, device_.Allocate(want.kind, want.bytes));
    if (want.kind == MemoryKind::kPinned) {
      std::memset((*want.buffer)->host(), 0, (*want.buffer)->size());
    }
  }
  hit_capacity_ = geometry_.hits_per_batch;
  return absl::OkStatus();
}

uint64_t BatchBuffers::resident_bytes() const {
  uint64_t total = 0;
  for (const auto* buffer : {&text_, &control_, &blobs_, &hits_, &text_in_, &control_in_,
                             &blobs_in_, &control_out_, &hits_out_, &head_in_}) {
    if (*buffer != nullptr) total += (*buffer)->size();
  }
  return total;
}

BufferRange BatchBuffers::TextRange(uint64_t begin, uint64_t end) const {
  if (engine_ == nullptr) return {&Text(), begin, end - begin};
  return {&engine_->area(), engine_->text_at(index_) + begin, end - begin};
}

BufferRange BatchBuffers::BlobRange(uint64_t bytes) const {
  if (engine_ == nullptr) return {&Blobs(), 0, bytes};
  return {&engine_->area(), engine_->blobs_at(index_), bytes};
}

absl::StatusOr<backends::Ticket> BatchBuffers::SubmitClear() {
  // A hit record that was never written is none: literal and slot are out of range.
  const backends::Fill fills[] = {{TextRange(0, layout_.text_buffer_bytes), 0},
                                  {Whole(Control()), 0},
                                  {BlobRange(uint64_t{layout_.blob_words} * 4), 0},
                                  {Whole(Hits()), 0xffffffffu}};
  return device_.Submit({.fills = fills});
}

absl::StatusOr<backends::Ticket> BatchBuffers::SubmitTextClear() {
  ClearHostText();
  device_text_end_ = KS_TEXT_LEAD;
  const backends::Fill fills[] = {{TextRange(0, layout_.text_buffer_bytes), 0}};
  return device_.Submit({.fills = fills});
}

void BatchBuffers::ClearHostText() {
  std::memset(text_in_->host(), 0, text_in_->size());
  if (engine_ != nullptr) std::memset(engine_->inbox_text(index_), 0, KS_RES_INBOX_TEXT);
  host_text_end_ = KS_TEXT_LEAD;
}

namespace {

// Copies the part of each piece that falls into positions [begin, end).
void CopyStretch(std::span<const Piece> pieces, const Packing& packing, uint32_t begin,
                 uint32_t end, std::byte* text) {
  auto blob = std::upper_bound(packing.blobs.begin(), packing.blobs.end(), begin,
                               [](uint32_t at, const Blob& b) { return at < b.end; });
  for (; blob != packing.blobs.end() && blob->begin < end; ++blob) {
    const uint32_t from = std::max(begin, blob->begin);
    const uint32_t to = std::min(end, blob->end);
    if (from >= to) continue;
    const Piece& piece = pieces[packing.piece_of[blob - packing.blobs.begin()]];
    std::memcpy(text + from, piece.text.data() + (from - blob->begin), to - from);
  }
}

}  // namespace

void BatchBuffers::StageText(std::span<const Piece> pieces, const Packing& packing,
                             backends::ThreadPool& copiers) {
  borrowed_ = nullptr;
  std::byte* text = text_in_->host();
  // One thread fills pinned memory at 6 GB/s, a fraction of the link.
  constexpr uint32_t kStretchBytes = 512 << 10;
  const uint32_t stretches = (packing.text_end + kStretchBytes - 1) / kStretchBytes;
  copiers.ParallelFor(stretches, [&](uint32_t i) {
    const uint32_t begin = i * kStretchBytes;
    CopyStretch(pieces, packing, begin, std::min(begin + kStretchBytes, packing.text_end), text);
  });
  if (host_text_end_ > packing.text_end) {
    std::memset(text + packing.text_end, 0, host_text_end_ - packing.text_end);
  }
  host_text_end_ = packing.text_end;
}

bool BatchBuffers::BorrowText(std::span<const Piece> pieces, const Packing& packing,
                              const Buffer& pinned) {
  const auto* memory = reinterpret_cast<const uint8_t*>(pinned.host());
  runs_.clear();
  for (size_t i = 0; i < packing.blobs.size(); ++i) {
    const std::span<const uint8_t> text = pieces[packing.piece_of[i]].text;
    if (text.empty()) continue;
    const auto from = static_cast<uint64_t>(text.data() - memory);
    if (memory == nullptr || text.data() < memory || from + text.size() > pinned.size()) {
      return false;
    }
    const uint32_t position = packing.blobs[i].begin;
    const auto bytes = static_cast<uint32_t>(text.size());
    if (!runs_.empty() && runs_.back().from + runs_.back().bytes == from) {
      runs_.back().bytes += bytes;
    } else {
      runs_.push_back({from, position, bytes});
    }
  }
  borrowed_ = &pinned;
  return true;
}

uint32_t* BatchBuffers::ControlIn() const {
  return reinterpret_cast<uint32_t*>(control_in_->host());
}

const uint32_t* BatchBuffers::ControlOut() const {
  if (resident_results_) return engine_->control_words(index_).data();
  return reinterpret_cast<const uint32_t*>((unified_ ? control_in_ : control_out_)->host());
}

void BatchBuffers::WriteControl(const EpochPlan& plan, uint32_t* control) const {
  std::memset(control, 0, uint64_t{layout_.ring_at} * 4);
  control[KS_CTL_MAGIC] = KS_ABI_MAGIC;
  control[KS_CTL_VERSION] = KS_ABI_VERSION;
  std::memcpy(control + KS_CTL_DIRECTORY_AT, plan.directory.data(), sizeof(plan.directory));
  uint32_t* masks = control + KS_CTL_TENANTS_AT + KS_TENANT_MASKS * geometry_.tenants;
  uint32_t* quotas = control + KS_CTL_TENANTS_AT + KS_TENANT_QUOTAS * geometry_.tenants;
  for (size_t i = 0; i < plan.tenants.size(); ++i) {
    masks[i] = plan.tenants[i].opcodes;
    quotas[i] = plan.tenants[i].epoch_bytes;
  }
  plan.ring->ForEachStretch(plan.range, [&](uint32_t first, std::span<const Slot> slots) {
    std::memcpy(control + layout_.ring_at + first * KS_SLOT_WORDS, slots.data(),
                slots.size_bytes());
  });
}

uint64_t BatchBuffers::WriteBlobs(const Packing& packing, std::byte* blobs) const {
  const size_t table = packing.blobs.size() * sizeof(Blob);
  if (table != 0) std::memcpy(blobs, packing.blobs.data(), table);
  std::memcpy(blobs + table, packing.tile_index.data(), packing.tile_index.size() * 4);
  return table + packing.tile_index.size() * 4;
}

void BatchBuffers::AddTextRuns(const Packing& packing) {
  const auto add = [this](const Buffer& from, uint64_t at, uint64_t position, uint64_t bytes) {
    uploads_.push_back({.from = {&from, at, bytes},
                        .to = TextRange(position, position + bytes),
                        .traffic = Traffic::kText});
  };
  if (borrowed_ == nullptr) {
    add(*text_in_, KS_TEXT_LEAD, KS_TEXT_LEAD, packing.text_bytes());
    return;
  }
  for (const TextRun& run : runs_) add(*borrowed_, run.from, run.position, run.bytes);
}

// Exactly the valid bytes are text. The rest of the last word and what an earlier batch left behind
// are cleared apart, so that the text's byte count is the pieces'.
void BatchBuffers::AddTextCopies(const EpochPlan& plan) {
  const Packing& packing = *plan.packing;
  const uint64_t blob_bytes = WriteBlobs(packing, blobs_in_->host());
  if (unified_) return;
  uploads_.push_back({.from = {blobs_in_.get(), 0, blob_bytes}, .to = BlobRange(blob_bytes)});
  const uint32_t end = packing.text_end;
  AddTextRuns(packing);
  if (RoundUp4(end) != end) {  // from the lead, which is always zero
    uploads_.push_back(
        {.from = {text_in_.get(), 0, RoundUp4(end) - end}, .to = TextRange(end, RoundUp4(end))});
  }
  if (device_text_end_ > RoundUp4(end)) {
    fills_.push_back({TextRange(RoundUp4(end), RoundUp4(device_text_end_)), 0});
  }
  device_text_end_ = std::max(device_text_end_, end);
  cleared_text_end_ = end;
}

void BatchBuffers::ConfirmText() { device_text_end_ = cleared_text_end_; }

void BatchBuffers::AddControlCopies(const EpochPlan& plan) {
  if (unified_) return;
  const uint64_t block = uint64_t{layout_.ring_at} * 4;
  uploads_.push_back(Between(*control_in_, *control_, 0, block, Traffic::kControl));
  readbacks_.push_back(Between(*control_, *control_out_, 0, block, Traffic::kControl));
  plan.ring->ForEachStretch(plan.range, [&](uint32_t first, std::span<const Slot> slots) {
    const uint64_t at = block + first * sizeof(Slot);
    uploads_.push_back(Between(*control_in_, *control_, at, slots.size_bytes(), Traffic::kControl));
    readbacks_.push_back(
        Between(*control_, *control_out_, at, slots.size_bytes(), Traffic::kControl));
  });
}

std::array<uint32_t, KS_CONSTANTS> BatchBuffers::Constants(const EpochPlan& plan,
                                                           uint64_t table_words) const {
  std::array<uint32_t, KS_CONSTANTS> constants{};
  constants[KS_CONST_ABI] = KS_ABI_VERSION;
  constants[KS_CONST_EPOCH] = plan.epoch;
  constants[KS_CONST_RING_AT] = layout_.ring_at;
  constants[KS_CONST_RING_SLOTS] = geometry_.slots;
  constants[KS_CONST_FIRST_SLOT] = plan.range.first;
  constants[KS_CONST_SLOT_COUNT] = plan.range.count;
  constants[KS_CONST_TENANTS] = geometry_.tenants;
  constants[KS_CONST_TEXT_END] = plan.packing->text_end;
  constants[KS_CONST_BLOBS] = static_cast<uint32_t>(plan.packing->blobs.size());
  constants[KS_CONST_TILES] = static_cast<uint32_t>(plan.packing->tile_index.size() - 1);
  constants[KS_CONST_TABLE_WORDS] = static_cast<uint32_t>(table_words);
  constants[KS_CONST_HIT_CAPACITY] = hit_capacity_;
  constants[KS_CONST_CLAIMS] = plan.claims;
  constants[KS_CONST_TABLE] = plan.table;
  return constants;
}

absl::StatusOr<backends::Ticket> BatchBuffers::SubmitEpoch(const backends::Program& program,
                                                           const BufferRange& tables,
                                                           const EpochPlan& plan) {
  fills_.clear();
  uploads_.clear();
  readbacks_.clear();
  WriteControl(plan, ControlIn());
  AddControlCopies(plan);
  if (plan.fresh_text) AddTextCopies(plan);
  const uint64_t hit_bytes = uint64_t{plan.hits_to_read} * sizeof(HitRecord);
  if (hit_bytes != 0 && !unified_) {
    readbacks_.push_back(Between(*hits_, *hits_out_, 0, hit_bytes, Traffic::kHits));
  }
  BufferRange bindings[KS_BINDINGS];
  bindings[KS_BIND_CONTROL] = Whole(Control());
  bindings[KS_BIND_TEXT] = TextRange(0, layout_.text_buffer_bytes);
  bindings[KS_BIND_BLOBS] = BlobRange(uint64_t{layout_.blob_words} * 4);
  bindings[KS_BIND_TABLES] = tables;
  bindings[KS_BIND_HITS] = Whole(Hits());
  const auto constants = Constants(plan, tables.bytes / 4);
  const backends::Launch launch{.program = &program,
                                .bindings = bindings,
                                .constants = constants,
                                .workgroups = plan.workgroups};
  resident_results_ = false;
  return device_.Submit(
      {.fills = fills_, .uploads = uploads_, .launch = &launch, .readbacks = readbacks_});
}

absl::Status BatchBuffers::PublishEpoch(const EpochPlan& plan, uint64_t table_words) {
  const Packing& packing = *plan.packing;
  const uint64_t small_blobs = packing.blobs.size() * sizeof(Blob) + packing.tile_index.size() * 4;
  const bool small = borrowed_ == nullptr && packing.text_bytes() <= KS_RES_SMALL_TEXT &&
                     small_blobs <= KS_RES_SMALL_BLOBS;
  std::byte* head_in = small ? engine_->inbox_head(index_) : head_in_->host();
  auto* head = reinterpret_cast<uint32_t*>(head_in);
  WriteControl(plan, head + KS_RES_HEAD_WORDS);
  const uint64_t blob_bytes = WriteBlobs(packing, head_in + engine_->blobs_offset());
  auto constants = Constants(plan, table_words);
  constants[KS_CONST_HIT_CAPACITY] = static_cast<uint32_t>(engine_->hits(index_).size());
  constants[KS_CONST_HIT_TAG] = TagOf(plan.epoch);
  const uint32_t end = packing.text_end;
  engine_->WriteHead(head, constants, end, RoundUp4(std::max(device_text_end_, end)));
  device_text_end_ = std::max(device_text_end_, end);
  cleared_text_end_ = end;
  resident_results_ = true;
  if (small) return RingEpoch(packing, engine_->blobs_offset() + blob_bytes);
  uploads_.clear();
  // One copy carries everything but the text: each copy costs the link what 100 KB cost it.
  const uint64_t head_bytes = engine_->blobs_offset() + blob_bytes;
  uploads_.push_back({.from = {head_in_.get(), 0, head_bytes},
                      .to = {&engine_->area(), engine_->head_at(index_), head_bytes}});
  AddTextRuns(packing);
  return engine_->Publish(index_, uploads_);
}

absl::Status BatchBuffers::RingEpoch(const Packing& packing, uint64_t head_bytes) {
  const auto up16 = [](uint64_t bytes) { return static_cast<uint32_t>((bytes + 15) / 16 * 16); };
  // What lies between the text's end and the next sixteenth byte goes along: zeros.
  const uint32_t text_bytes = up16(packing.text_end);
  std::byte* text = engine_->inbox_text(index_);
  std::memcpy(text, text_in_->host(), packing.text_end);
  const uint32_t used = std::max(text_bytes, inbox_text_end_);  // by an earlier batch
  std::memset(text + packing.text_end, 0, used - packing.text_end);
  inbox_text_end_ = text_bytes;
  return engine_->Ring(index_, up16(head_bytes), text_bytes);
}

absl::StatusOr<backends::Ticket> BatchBuffers::SubmitHitRead(uint32_t first, uint32_t last) {
  if (unified_) return device_.Submit({});
  const Copy copy = Between(*hits_, *hits_out_, uint64_t{first} * sizeof(HitRecord),
                            uint64_t{last - first} * sizeof(HitRecord), Traffic::kHits);
  return device_.Submit({.readbacks = std::span(&copy, 1)});
}

absl::Status BatchBuffers::GrowHits(uint32_t records) {
  if (records <= hit_capacity_) return absl::OkStatus();
  const uint64_t bytes = uint64_t{records} * sizeof(HitRecord);
  std::unique_ptr<Buffer> device_hits;
  if (!unified_) {
    KS_ASSIGN_OR_RETURN(device_hits, device_.Allocate(MemoryKind::kDevice, bytes));
  }
  KS_ASSIGN_OR_RETURN(auto pinned_hits, device_.Allocate(MemoryKind::kPinned, bytes));
  hits_ = std::move(device_hits);
  hits_out_ = std::move(pinned_hits);
  hit_capacity_ = records;
  return absl::OkStatus();
}

std::span<const uint32_t> BatchBuffers::control_block() const {
  return {ControlOut(), layout_.ring_at};
}

std::vector<Slot> BatchBuffers::ReturnedSlots(const Ring& ring, SlotRange range) const {
  std::vector<Slot> slots(range.count);
  size_t next = 0;
  ring.ForEachStretch(range, [&](uint32_t first, std::span<const Slot> stretch) {
    std::memcpy(
        slots.data() + next,
        static_cast<const void*>(ControlOut() + layout_.ring_at + uint64_t{first} * KS_SLOT_WORDS),
        stretch.size_bytes());
    next += stretch.size();
  });
  return slots;
}

std::span<const HitRecord> BatchBuffers::hits(uint32_t count) const {
  if (resident_results_) {
    const auto records = engine_->hits(index_);
    return records.first(std::min<size_t>(count, records.size()));
  }
  return {reinterpret_cast<const HitRecord*>(hits_out_->host()), std::min(count, hit_capacity_)};
}

}  // namespace keysieve::megakernel
