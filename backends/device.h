// SPDX-License-Identifier: MIT
// The contract every backend fulfils: one accelerator (or the CPU), its memory, its programs and
// its clock. A device loads images, owns buffers, runs submissions in order and tells the time; it
// knows nothing about scanning. One lane thread owns a device: no call is made from two threads at
// once.
//
//   auto text = *device->Allocate(MemoryKind::kDevice, 16 << 20);
//   auto program = *device->Load(image);
//   Ticket ticket = *device->Submit({.uploads = copies, .launch = &launch, .readbacks = backs});
//   StageTimes times = *device->Wait(ticket, Clock::now() + 2s);
//
// Errors, turned from vendor codes once in each backend's error file:
//   RESOURCE_EXHAUSTED  the device or the host is out of memory
//   INVALID_ARGUMENT    an image or a geometry the device cannot take
//   DEADLINE_EXCEEDED   a wait ran out; the submission is still pending
//   DATA_LOSS           the device is lost; only Abandon() may follow
//   UNAVAILABLE         no such device or driver
//   INTERNAL            a dispatch failed; the device may still be used
//   UNIMPLEMENTED       the backend does not offer the operation
//
// A device records its own faults, each once, where the vendor's code becomes a status: dispatch,
// out of memory, device lost. DEADLINE_EXCEEDED may be mere polling and is no fault; a timeout is
// recorded by Abandon() when work is still in flight on a device that was not lost. Its caller adds
// retries, recoveries and integrity faults.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "evidence/device_recorder.h"

namespace keysieve::backends {

using Clock = std::chrono::steady_clock;

// Numbers are stable and exported; the CPU is no accelerator.
enum class BackendKind : uint8_t { kCpu = 0, kCuda = 1, kMetal = 2, kVulkan = 3 };
std::string_view BackendName(BackendKind kind);                       // "cpu", "cuda", ...
absl::StatusOr<BackendKind> ParseBackendName(std::string_view name);  // INVALID_ARGUMENT otherwise

struct Identity {
  BackendKind backend = BackendKind::kCpu;
  int index = 0;            // position in the backend's own enumeration
  std::string name;         // "NVIDIA H200"
  std::string driver;       // driver version
  std::string driver_info;  // whatever else the driver says of itself
  std::string uuid;         // 32 lower-case hex digits, empty if unknown
  std::string pci_address;  // "0000:17:00.0", empty if unknown
  uint32_t pci_vendor = 0;  // 0 = unknown
  uint32_t pci_device = 0;  // 0 = unknown
  bool software = false;    // a software rasteriser or the CPU
};

struct Limits {
  uint64_t max_buffer_bytes = 0;
  uint64_t memory_bytes = 0;  // 0 = unknown
  uint32_t max_workgroups = 0;
  uint32_t max_workgroup_size = 0;
  uint32_t shared_memory_bytes = 0;
  uint32_t subgroup_size = 1;
  bool subgroup_operations = false;  // may a program add up and elect within a subgroup?
  uint32_t multiprocessors = 0;      // 0 = unknown
  uint64_t offset_alignment = 4;     // of a bound buffer range
  bool unified_memory = false;       // programs use pinned memory as fast as any: copy nothing
  bool resident_kernels = false;     // may a kernel spin? (forward progress, stream-ordered words)
};

// What the backend can read of itself; a false is an explicit capability gap.
struct Capabilities {
  bool kernel_timestamps = false;
  bool occupancy = false;
  bool utilization = false;
  bool stall_counters = false;
};

enum class MemoryKind : uint8_t {
  kDevice,  // device-local, not visible to the host
  kPinned,  // host memory the device copies from and to at full speed; host() is valid
  kTable,   // device-local, written by uploads, read-only for programs
};

// A range of device or pinned memory. Freed on destruction, which must precede the device's.
class Buffer {
 public:
  virtual ~Buffer() = default;
  virtual uint64_t size() const = 0;    // bytes
  virtual std::byte* host() const = 0;  // null unless kPinned
  virtual MemoryKind kind() const = 0;
};

struct BufferRange {
  const Buffer* buffer = nullptr;
  uint64_t offset = 0;  // bytes
  uint64_t bytes = 0;
};

// What a host image keeps from one launch to the next. Work in flight holds it. Any thread.
class HostState {
 public:
  virtual ~HostState() = default;
};

// Runs one workgroup of a host image. `bindings` are the launch's ranges as memory.
struct HostWorkgroup {
  std::span<const std::span<std::byte>> bindings;
  std::span<const uint32_t> constants;
  uint32_t workgroup = 0;
  uint32_t workgroups = 1;
  HostState* state = nullptr;  // the image's
};
using HostKernel = void (*)(const HostWorkgroup&);

// A program in one device language. Borrowed until Load() returns.
struct Image {
  BackendKind backend = BackendKind::kCpu;
  std::string_view name;            // for messages and caches
  std::span<const std::byte> code;  // SPIR-V words, fat binary or metallib; empty for the CPU
  std::string_view entry = "main";
  HostKernel host = nullptr;              // the CPU's code
  std::shared_ptr<HostState> host_state;  // the CPU's; may be null
  uint32_t bindings = 0;                  // storage buffers, bound 0..bindings-1; at most 16
  uint32_t constants = 0;                 // 32-bit words passed by value; at most 16
  uint32_t workgroup_size = 1;            // specialization constant 0 in SPIR-V
  // Dynamic shared memory (CUDA); in SPIR-V specialization constant 1, in words and at least 1.
  uint32_t shared_bytes = 0;
};

class Program {
 public:
  virtual ~Program() = default;
};

struct Copy {
  BufferRange from;  // `bytes` of `from` and `to` are equal
  BufferRange to;
  evidence::Traffic traffic = evidence::Traffic::kControl;  // what the bytes are, for the counters
};
struct Fill {
  BufferRange range;  // offset and bytes are multiples of 4
  uint32_t word = 0;
};
struct Launch {
  const Program* program = nullptr;
  std::span<const BufferRange> bindings;
  std::span<const uint32_t> constants;
  uint32_t workgroups = 1;
};

// Runs as: fills, then uploads, then the launch, then the readbacks; within one of these, in any
// order. Empty ranges are passed over. Spans are borrowed until Submit() returns; the buffers and
// the program until the ticket has completed. Submissions may overlap one another except where they
// touch the same buffer, which the caller must avoid.
struct Submission {
  std::span<const Fill> fills;
  std::span<const Copy> uploads;
  const Launch* launch = nullptr;  // null: copies only
  std::span<const Copy> readbacks;
};

using Ticket = uint64_t;  // increasing from 1, per device

// Nanoseconds by the device's clock where it has one. kernel <= submit_to_complete always.
struct StageTimes {
  std::optional<uint64_t> upload_ns;
  std::optional<uint64_t> kernel_ns;
  std::optional<uint64_t> readback_ns;
  uint64_t submit_to_complete_ns = 0;
};

struct Sample {  // what the device says of itself now; absent = cannot be read
  std::optional<double> utilization_ratio;
  std::optional<double> occupancy_ratio;
};

enum class Health : uint8_t { kHealthy, kSuspect, kLost };

class Device {
 public:
  virtual ~Device() = default;

  virtual const Identity& identity() const = 0;
  virtual const Limits& limits() const = 0;
  virtual const Capabilities& capabilities() const = 0;
  virtual Health health() const = 0;

  // Memory comes zeroed where the backend can zero it for nothing, else with unspecified content.
  virtual absl::StatusOr<std::unique_ptr<Buffer>> Allocate(MemoryKind kind, uint64_t bytes) = 0;
  virtual absl::StatusOr<std::unique_ptr<Program>> Load(const Image& image) = 0;

  // Asynchronous. On error nothing was started.
  virtual absl::StatusOr<Ticket> Submit(const Submission& submission) = 0;
  // True once the ticket has completed or failed; never blocks.
  virtual bool Done(Ticket ticket) = 0;
  // Blocks until the ticket completes. Each ticket is waited for exactly once with success or a
  // failure other than DEADLINE_EXCEEDED.
  virtual absl::StatusOr<StageTimes> Wait(Ticket ticket, Clock::time_point deadline) = 0;

  virtual absl::StatusOr<Sample> ReadSample() = 0;

  // Resident policy, where limits().resident_kernels: starts a launch that runs until memory says
  // stop (its ticket completes then); writes a word of device memory in stream order after copies.
  // What a word sets going is not recorded here: its caller times and records it.
  virtual absl::StatusOr<Ticket> StartResident(const Launch& launch) = 0;
  virtual absl::StatusOr<Ticket> CopyThenWriteWord(std::span<const Copy> uploads, BufferRange word,
                                                   uint32_t value) = 0;

  // After a hang or a loss: no later call touches the device, and destructors leave handles be.
  virtual void Abandon() = 0;
};

struct OpenOptions {
  evidence::DeviceRecorder* recorder = nullptr;  // null: nothing is recorded. Outlives the device.
  std::string cache_dir;                         // pipeline cache; empty = none on disk
  uint32_t cpu_threads = 0;                      // CPU only: 0 = one per hardware thread
};

}  // namespace keysieve::backends
