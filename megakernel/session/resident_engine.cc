// SPDX-License-Identifier: MIT
#include "megakernel/session/resident_engine.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>

#include "evidence/base/status.h"

namespace keysieve::megakernel {

using backends::BufferRange;
using backends::Clock;
using backends::Copy;
using backends::MemoryKind;

namespace {

constexpr uint64_t kStrideBytes = 4096;
constexpr std::chrono::microseconds kEager{100};  // of spinning before a wait takes its time
constexpr std::chrono::microseconds kNap{10};
constexpr std::chrono::milliseconds kLookEvery{2};
constexpr std::chrono::seconds kLeaving{5};  // for a program that said it leaves

uint64_t RoundUp(uint64_t bytes, uint64_t to) { return (bytes + to - 1) / to * to; }

// The device writes it while the host looks.
uint32_t LoadShared(const uint32_t* word) {
  return std::atomic_ref<uint32_t>(*const_cast<uint32_t*>(word)).load(std::memory_order_acquire);
}

}  // namespace

ResidentEngine::ResidentEngine(backends::Device& device, const ResidentShape& shape,
                               const backends::Buffer& tables)
    : device_(device), shape_(shape), tables_(tables), published_(shape.batches) {
  const uint64_t head = (KS_RES_HEAD_WORDS + uint64_t{shape.control_words}) * 4;
  blobs_at_ = RoundUp(head, 256);
  text_at_ = RoundUp(blobs_at_ + uint64_t{shape.blob_words} * 4, 256);
  area_stride_ = RoundUp(text_at_ + shape.text_buffer_bytes, kStrideBytes);
  inbox_stride_ = RoundUp(blobs_at_ + KS_RES_SMALL_BLOBS, 256) + KS_RES_INBOX_TEXT;
  answer_stride_ =
      static_cast<uint32_t>(RoundUp(KS_RES_ANSWER_WORDS + uint64_t{shape.control_words}, 64));
}

absl::StatusOr<std::unique_ptr<ResidentEngine>> ResidentEngine::Create(
    backends::Device& device, const ResidentShape& shape, const backends::Image& image,
    const backends::Buffer& tables) {
  std::unique_ptr<ResidentEngine> engine(new ResidentEngine(device, shape, tables));
  KS_RETURN_IF_ERROR(engine->Allocate(image));
  return engine;
}

absl::Status ResidentEngine::Allocate(const backends::Image& image) {
  KS_ASSIGN_OR_RETURN(program_, device_.Load(image));
  struct Want {
    std::unique_ptr<backends::Buffer>* buffer;
    MemoryKind kind;
    uint64_t bytes;
  };
  const uint64_t batches = shape_.batches;
  const Want wants[] = {{&control_, MemoryKind::kDevice, KS_RES_CONTROL_WORDS * 4},
                        {&area_, MemoryKind::kDevice, batches * area_stride_},
                        {&answers_, MemoryKind::kPinned, batches * answer_stride_ * 4},
                        {&hits_, MemoryKind::kPinned, batches * shape_.hits * sizeof(HitRecord)},
                        {&pulse_, MemoryKind::kPinned, KS_RES_PULSE_WORDS * 4},
                        {&inbox_, MemoryKind::kPinned, batches * inbox_stride_},
                        {&note_, MemoryKind::kPinned, 64}};
  std::vector<backends::Fill> fills;
  for (const Want& want : wants) {
    KS_ASSIGN_OR_RETURN(*want.buffer, device_.Allocate(want.kind, want.bytes));
    if (want.kind == MemoryKind::kPinned) {
      std::memset((*want.buffer)->host(), 0, want.bytes);
    } else {
      fills.push_back({{want.buffer->get(), 0, want.bytes}, 0});
    }
  }
  KS_ASSIGN_OR_RETURN(const backends::Ticket ticket, device_.Submit({.fills = fills}));
  return device_.Wait(ticket, Clock::now() + std::chrono::seconds(60)).status();
}

uint64_t ResidentEngine::resident_bytes() const {
  uint64_t total = 0;
  for (const auto* buffer : {&control_, &area_, &answers_, &hits_, &pulse_, &inbox_, &note_}) {
    total += (*buffer)->size();
  }
  return total;
}

uint32_t ResidentEngine::Pulse(uint32_t word) const {
  return LoadShared(reinterpret_cast<const uint32_t*>(pulse_->host()) + word);
}

const uint32_t* ResidentEngine::Answer(uint32_t batch) const {
  return reinterpret_cast<const uint32_t*>(answers_->host()) + uint64_t{batch} * answer_stride_;
}

std::span<const uint32_t> ResidentEngine::control_words(uint32_t batch) const {
  return {Answer(batch) + KS_RES_ANSWER_WORDS, shape_.control_words};
}

std::span<const HitRecord> ResidentEngine::hits(uint32_t batch) const {
  const auto* records = reinterpret_cast<const HitRecord*>(hits_->host());
  return {records + uint64_t{batch} * shape_.hits, shape_.hits};
}

void ResidentEngine::WriteHead(uint32_t* head, std::span<const uint32_t> constants,
                               uint32_t clear_at, uint32_t clear_end) const {
  std::fill_n(head, KS_RES_HEAD_WORDS, 0u);
  head[KS_RES_HEAD_SEQUENCE] = next_sequence_;
  head[KS_RES_HEAD_CLEAR_AT] = clear_at;
  head[KS_RES_HEAD_CLEAR_END] = clear_end;
  std::copy(constants.begin(), constants.end(), head + KS_RES_HEAD_CONSTANTS_AT);
}

// ---- coming and leaving ----

absl::Status ResidentEngine::Launch() {
  const BufferRange bindings[KS_RES_BINDINGS] = {
      {control_.get(), 0, control_->size()}, {area_.get(), 0, area_->size()},
      {&tables_, 0, tables_.size()},         {answers_.get(), 0, answers_->size()},
      {hits_.get(), 0, hits_->size()},       {pulse_.get(), 0, pulse_->size()},
      {inbox_.get(), 0, inbox_->size()}};
  std::array<uint32_t, KS_CONSTANTS> constants{};
  constants[KS_RES_CONST_ABI] = KS_ABI_VERSION;
  constants[KS_RES_CONST_BATCHES] = shape_.batches;
  constants[KS_RES_CONST_AREA_STRIDE] = static_cast<uint32_t>(area_stride_);
  constants[KS_RES_CONST_TEXT_AT] = static_cast<uint32_t>(text_at_);
  constants[KS_RES_CONST_BLOBS_AT] = static_cast<uint32_t>(blobs_at_ / 4);
  constants[KS_RES_CONST_CONTROL_WORDS] = shape_.control_words;
  constants[KS_RES_CONST_ANSWER_STRIDE] = answer_stride_;
  constants[KS_RES_CONST_HIT_STRIDE] = shape_.hits;
  constants[KS_RES_CONST_PARK_US] = static_cast<uint32_t>(
      std::min<int64_t>(std::chrono::microseconds(shape_.park_after).count(), UINT32_MAX));
  constants[KS_RES_CONST_INBOX_STRIDE] = static_cast<uint32_t>(inbox_stride_);
  constants[KS_RES_CONST_LAUNCH] = launch_ + 1;
  constants[KS_RES_CONST_FIRST] = Pulse(KS_RES_PULSE_OPENED);
  const backends::Launch launch{.program = program_.get(),
                                .bindings = bindings,
                                .constants = constants,
                                .workgroups = shape_.blocks + 1};
  KS_ASSIGN_OR_RETURN(kernel_, device_.StartResident(launch));
  ++launch_;
  running_ = true;
  return absl::OkStatus();
}

// Waits for the launch's end, which is near.
absl::Status ResidentEngine::Join(Clock::time_point deadline) {
  const auto left = device_.Wait(kernel_, deadline);
  if (absl::IsDeadlineExceeded(left.status())) return left.status();
  running_ = false;
  if (left.ok()) return absl::OkStatus();
  return absl::DataLossError(Cat("the resident program failed: ", Message(left.status())));
}

absl::Status ResidentEngine::Look(Clock::time_point deadline) {
  if (!running_) return absl::OkStatus();
  const bool said = Pulse(KS_RES_PULSE_LEFT) == launch_;
  if (!said && !device_.Done(kernel_)) return absl::OkStatus();
  // It leaves once the batches it has opened are done.
  KS_RETURN_IF_ERROR(Join(deadline));
  if (Pulse(KS_RES_PULSE_LEFT) == launch_) return absl::OkStatus();
  return absl::DataLossError("the resident program ended by itself, without a word");
}

absl::Status ResidentEngine::Park(Clock::time_point deadline) {
  if (!running_) return absl::OkStatus();
  auto* note = reinterpret_cast<uint32_t*>(note_->host());
  *note = launch_;
  const Copy copy{.from = {note_.get(), 0, 4}, .to = {control_.get(), KS_RES_STOP * 4, 4}};
  KS_ASSIGN_OR_RETURN(const backends::Ticket ticket,
                      device_.Submit({.uploads = std::span(&copy, 1)}));
  KS_RETURN_IF_ERROR(device_.Wait(ticket, deadline).status());
  return Join(deadline);
}

// ---- batches ----

absl::Status ResidentEngine::Publish(uint32_t batch, std::span<const Copy> copies) {
  KS_RETURN_IF_ERROR(Look(Clock::now() + kLeaving));
  if (!running_) KS_RETURN_IF_ERROR(Launch());  // if it can't come, nothing was published
  const uint32_t sequence = next_sequence_;
  const Clock::time_point at = Clock::now();
  const BufferRange word{control_.get(), (KS_RES_READY_AT + sequence % KS_RES_READY) * 4, 4};
  KS_ASSIGN_OR_RETURN(const backends::Ticket ticket,
                      device_.CopyThenWriteWord(copies, word, KS_RES_READY_WORD(sequence, batch)));
  published_[batch] = {.sequence = sequence, .ticket = ticket, .at = at};
  for (const Copy& copy : copies) {
    published_[batch].uploads.bytes[static_cast<size_t>(copy.traffic)] += copy.from.bytes;
  }
  ++next_sequence_;
  return absl::OkStatus();
}

std::byte* ResidentEngine::inbox_head(uint32_t batch) const {
  return inbox_->host() + batch * inbox_stride_;
}

std::byte* ResidentEngine::inbox_text(uint32_t batch) const {
  return inbox_head(batch) + inbox_stride_ - KS_RES_INBOX_TEXT;
}

absl::Status ResidentEngine::Ring(uint32_t batch, uint32_t head_bytes, uint32_t text_bytes) {
  // The program says itself when it has left: no call of the driver for that.
  if (!running_ || Pulse(KS_RES_PULSE_LEFT) == launch_) {
    KS_RETURN_IF_ERROR(Look(Clock::now() + kLeaving));
    if (!running_) KS_RETURN_IF_ERROR(Launch());
  }
  const uint32_t sequence = next_sequence_++;
  auto* bell = reinterpret_cast<uint32_t*>(pulse_->host()) + KS_RES_BELLS_AT +
               sequence % KS_RES_READY * KS_RES_BELL_WORDS;
  bell[KS_RES_BELL_HEAD] = head_bytes;
  bell[KS_RES_BELL_TEXT] = text_bytes;
  std::atomic_ref<uint32_t>(bell[KS_RES_BELL_READY])
      .store(KS_RES_READY_WORD(sequence, batch), std::memory_order_release);
  Published& published = published_[batch];
  published = {.sequence = sequence, .at = Clock::now()};
  published.uploads.bytes[static_cast<size_t>(evidence::Traffic::kText)] =
      text_bytes - KS_TEXT_LEAD;
  published.uploads.bytes[static_cast<size_t>(evidence::Traffic::kControl)] = head_bytes;
  if (shape_.recorder != nullptr) shape_.recorder->Submitted();
  return absl::OkStatus();
}

// The device cannot know when a batch is answered, so the batch is recorded here. A rung one has
// bytes and no upload time: the program fetched them itself.
void ResidentEngine::Record(const Published& published, uint64_t kernel_ns,
                            std::optional<uint64_t> upload_ns) const {
  if (shape_.recorder == nullptr) return;
  evidence::DispatchRecord record;
  record.launched = true;
  record.uploads = published.uploads;
  record.upload_ns = upload_ns;
  const auto whole = std::chrono::nanoseconds(Clock::now() - published.at).count();
  record.submit_to_complete_ns = static_cast<uint64_t>(whole);
  record.kernel_ns = std::min<uint64_t>(kernel_ns, record.submit_to_complete_ns);
  shape_.recorder->Completed(record);
}

bool ResidentEngine::Answered(uint32_t batch) const {
  return LoadShared(Answer(batch) + KS_RES_ANSWER_SEQUENCE) == published_[batch].sequence + 1;
}

absl::StatusOr<uint64_t> ResidentEngine::Wait(uint32_t batch, Clock::time_point deadline) {
  const Clock::time_point begun = Clock::now();
  Clock::time_point looked = begun;
  while (!Answered(batch)) {
    const Clock::time_point now = Clock::now();
    const bool left = running_ && Pulse(KS_RES_PULSE_LEFT) == launch_;
    if (left || now - looked > kLookEvery) {
      looked = now;
      KS_RETURN_IF_ERROR(Look(deadline));
      // It parked while this batch was on its way.
      if (!running_ && !Answered(batch)) KS_RETURN_IF_ERROR(Launch());
    }
    if (now >= deadline) {
      return absl::DeadlineExceededError(Cat("the resident program has not answered batch ",
                                             published_[batch].sequence, "; it has opened ",
                                             Pulse(KS_RES_PULSE_OPENED), " of ", next_sequence_,
                                             ", heartbeat ", heartbeat()));
    }
    if (now - begun > kEager)
      std::this_thread::sleep_for(std::min<Clock::duration>(kNap, deadline - now));
  }
  const uint64_t ns = Answer(batch)[KS_RES_ANSWER_NS];
  Published& published = published_[batch];
  if (published.ticket == 0) {
    Record(published, ns, std::nullopt);
    return ns;
  }
  // Copies are done, since the word that follows them was seen; this is their bookkeeping.
  const Clock::time_point soon = Clock::now() + kLeaving;
  KS_ASSIGN_OR_RETURN(const backends::StageTimes copied, device_.Wait(published.ticket, soon));
  published.ticket = 0;
  Record(published, ns, copied.upload_ns);
  return ns;
}

}  // namespace keysieve::megakernel
