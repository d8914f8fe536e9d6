// SPDX-License-Identifier: MIT
#include "tests/megakernel/resident_device.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "backends/cpu/host_work.h"
#include "megakernel/abi.inl"
#include "megakernel/images/embedded.h"
#include "megakernel/images/images.h"
#include "megakernel/resident.inl"

namespace keysieve::test {

using backends::Clock;
using backends::Ticket;

namespace {

// Tickets of this device; the CPU device's own stay far below.
constexpr Ticket kKernel = Ticket{1} << 40;
constexpr Ticket kWord = kKernel + 1;

std::byte* MemoryOf(const backends::BufferRange& range) {
  return static_cast<const backends::HostBuffer*>(range.buffer)->memory()->data() + range.offset;
}

uint32_t LoadWord(uint32_t* word) {
  return std::atomic_ref<uint32_t>(*word).load(std::memory_order_acquire);
}
void StoreWord(uint32_t* word, uint32_t value) {
  std::atomic_ref<uint32_t>(*word).store(value, std::memory_order_release);
}

}  // namespace

// One launch.
class ResidentDevice::Run {
 public:
  Run(ResidentDevice& device, const backends::Launch& launch) : device_(device) {
    for (const backends::BufferRange& range : launch.bindings) {
      bindings_.push_back({MemoryOf(range), range.bytes});
    }
    std::copy(launch.constants.begin(), launch.constants.end(), constants_.begin());
  }

  void operator()() {
    uint32_t opened = Constant(KS_RES_CONST_FIRST);
    auto worked = Clock::now();
    while (true) {
      const uint32_t batch = Next(opened);
      if (batch < Constant(KS_RES_CONST_BATCHES)) {
        const Mood mood = device_.mood_.load();
        if (mood == Mood::kHangs) {
          while (!device_.released_.load()) std::this_thread::yield();
        }
        if (mood == Mood::kDies || mood == Mood::kHangs) break;
        StoreWord(Pulse(KS_RES_PULSE_OPENED), opened + 1);
        Take(batch, opened++);
        worked = Clock::now();
        continue;
      }
      const auto park = std::chrono::microseconds(Constant(KS_RES_CONST_PARK_US));
      const bool idle = park.count() != 0 && Clock::now() - worked > park;
      if (idle ||
          LoadWord(Words(KS_RES_BIND_CONTROL) + KS_RES_STOP) == Constant(KS_RES_CONST_LAUNCH)) {
        StoreWord(Pulse(KS_RES_PULSE_LEFT), Constant(KS_RES_CONST_LAUNCH));
        break;
      }
      std::this_thread::yield();
    }
    device_.done_.store(true);
  }

 private:
  uint32_t Constant(uint32_t i) const { return constants_[i]; }
  uint32_t* Words(uint32_t binding) const {
    return reinterpret_cast<uint32_t*>(bindings_[binding].data());
  }
  uint32_t* Pulse(uint32_t word) const { return Words(KS_RES_BIND_PULSE) + word; }
  uint32_t* Head(uint32_t batch) const {
    return Words(KS_RES_BIND_AREA) + uint64_t{batch} * (Constant(KS_RES_CONST_AREA_STRIDE) / 4);
  }
  std::byte* Text(uint32_t batch) const {
    return reinterpret_cast<std::byte*>(Head(batch)) + Constant(KS_RES_CONST_TEXT_AT);
  }

  // The batch published as `sequence`, or no batch's number.
  uint32_t Next(uint32_t sequence) const {
    const uint32_t due = KS_RES_READY_WORD(sequence, 0u) >> KS_RES_BATCH_BITS;
    const uint32_t place = sequence % KS_RES_READY;
    const uint32_t ready = LoadWord(Words(KS_RES_BIND_CONTROL) + KS_RES_READY_AT + place);
    if (ready >> KS_RES_BATCH_BITS == due) return ready & KS_RES_BATCH_MASK;
    uint32_t* bell = Pulse(KS_RES_BELLS_AT + place * KS_RES_BELL_WORDS);
    const uint32_t rung = LoadWord(bell + KS_RES_BELL_READY);
    if (rung >> KS_RES_BATCH_BITS != due) return UINT32_MAX;
    Fetch(rung & KS_RES_BATCH_MASK, bell[KS_RES_BELL_HEAD], bell[KS_RES_BELL_TEXT]);
    return rung & KS_RES_BATCH_MASK;
  }

  void Fetch(uint32_t batch, uint32_t head_bytes, uint32_t text_bytes) const {
    const uint64_t stride = Constant(KS_RES_CONST_INBOX_STRIDE);
    const std::byte* inbox = bindings_[KS_RES_BIND_INBOX].data() + batch * stride;
    std::memcpy(Head(batch), inbox, head_bytes);
    std::memcpy(Text(batch), inbox + stride - KS_RES_INBOX_TEXT, text_bytes);
  }

  void Take(uint32_t batch, uint32_t sequence) const {
    uint32_t* head = Head(batch);
    uint32_t* control = head + KS_RES_HEAD_WORDS;
    const uint64_t control_words = Constant(KS_RES_CONST_CONTROL_WORDS);
    const uint64_t hit_bytes = uint64_t{Constant(KS_RES_CONST_HIT_STRIDE)} * KS_HIT_WORDS * 4;
    const auto bytes = [](uint32_t* words, uint64_t size) {
      return std::span(reinterpret_cast<std::byte*>(words), size);
    };
    uint32_t* hits = Words(KS_RES_BIND_HITS) + batch * hit_bytes / 4;
    uint32_t* blobs = head + Constant(KS_RES_CONST_BLOBS_AT);
    const std::span<std::byte> memory[KS_BINDINGS] = {
        bytes(control, control_words * 4),
        {Text(batch), Constant(KS_RES_CONST_AREA_STRIDE) - Constant(KS_RES_CONST_TEXT_AT)},
        bytes(blobs, Constant(KS_RES_CONST_TEXT_AT) - Constant(KS_RES_CONST_BLOBS_AT) * 4),
        bindings_[KS_RES_BIND_TABLES],
        bytes(hits, hit_bytes)};
    backends::HostWorkgroup work;
    work.bindings = memory;
    work.constants = {head + KS_RES_HEAD_CONSTANTS_AT, KS_CONSTANTS};
    megakernel::RunScanOnCpu(work);
    if (device_.mood_.load() == Mood::kForgetsTags) hits[1] &= (1u << KS_HIT_TAG_SHIFT) - 1;
    const uint32_t clear_at = head[KS_RES_HEAD_CLEAR_AT], end = head[KS_RES_HEAD_CLEAR_END];
    if (clear_at < end) std::memset(Text(batch) + clear_at, 0, end - clear_at);
    uint32_t* answer =
        Words(KS_RES_BIND_ANSWERS) + uint64_t{batch} * Constant(KS_RES_CONST_ANSWER_STRIDE);
    std::memcpy(answer + KS_RES_ANSWER_WORDS, control, control_words * 4);
    answer[KS_RES_ANSWER_HITS] = control[KS_CTL_HITS];
    answer[KS_RES_ANSWER_NS] = 1;
    StoreWord(answer + KS_RES_ANSWER_SEQUENCE, sequence + 1);
  }

  ResidentDevice& device_;
  std::vector<std::span<std::byte>> bindings_;
  std::array<uint32_t, KS_CONSTANTS> constants_{};
};

ResidentDevice::ResidentDevice(backends::Device& device)
    : ForwardingDevice(device), limits_(device.limits()) {
  limits_.resident_kernels = true;
  limits_.unified_memory = false;
}

ResidentDevice::~ResidentDevice() {
  released_.store(true);
  if (thread_.joinable()) thread_.join();
}

backends::Image ResidentDevice::ProgramImage() {
  backends::Image image = *megakernel::ScanImage(backends::BackendKind::kCpu, 1);
  image.name = "resident";
  return image;
}

absl::StatusOr<std::unique_ptr<backends::Program>> ResidentDevice::Load(
    const backends::Image& image) {
  return ForwardingDevice::Load(image);
}

bool ResidentDevice::Done(Ticket ticket) {
  if (ticket == kWord) return true;
  return ticket == kKernel ? done_.load() : ForwardingDevice::Done(ticket);
}

absl::StatusOr<backends::StageTimes> ResidentDevice::Wait(Ticket ticket,
                                                          Clock::time_point deadline) {
  if (ticket == kWord) return backends::StageTimes{};
  if (ticket != kKernel) return ForwardingDevice::Wait(ticket, deadline);
  while (!done_.load()) {
    if (Clock::now() >= deadline) return absl::DeadlineExceededError("the program is still there");
    std::this_thread::yield();
  }
  thread_.join();
  return backends::StageTimes{};
}

absl::StatusOr<Ticket> ResidentDevice::StartResident(const backends::Launch& launch) {
  ++launches_;
  done_.store(false);
  thread_ = std::thread(Run(*this, launch));
  return kKernel;
}

absl::StatusOr<Ticket> ResidentDevice::CopyThenWriteWord(std::span<const backends::Copy> uploads,
                                                         backends::BufferRange word,
                                                         uint32_t value) {
  for (const backends::Copy& copy : uploads) {
    if (copy.from.bytes != 0) std::memcpy(MemoryOf(copy.to), MemoryOf(copy.from), copy.from.bytes);
  }
  StoreWord(reinterpret_cast<uint32_t*>(MemoryOf(word)), value);
  ++words_;
  return kWord;
}

}  // namespace keysieve::test
