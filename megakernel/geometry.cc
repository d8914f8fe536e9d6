// SPDX-License-Identifier: MIT
#include "megakernel/geometry.h"

#include <algorithm>
#include <string_view>

#include "evidence/base/status.h"
#include "megakernel/abi.inl"
#include "megakernel/literal.h"

namespace keysieve::megakernel {
namespace {

constexpr uint32_t kMaxBatches = 64;
constexpr uint64_t kMinBatchBytes = 4096;
constexpr uint64_t kMaxBatchBytes = uint64_t{1} << 30;
constexpr uint64_t kMinTableBytes = 64 << 10;
constexpr uint64_t kMaxTableBytes = uint64_t{1} << 30;
constexpr uint32_t kMaxHitsPerBatch = 1 << 24;
constexpr uint32_t kMaxPieces = 32768;
constexpr uint32_t kMinPieces = 1024;

absl::Status Within(std::string_view field, uint64_t value, uint64_t low, uint64_t high) {
  if (value >= low && value <= high) return absl::OkStatus();
  return absl::InvalidArgumentError(
      Cat("geometry.", field, " is ", value, "; it must lie in ", low, "..", high));
}

absl::Status CheckFields(const Geometry& g) {
  KS_RETURN_IF_ERROR(Within("slots", g.slots, 2, KS_MAX_SLOTS));
  KS_RETURN_IF_ERROR(Within("workgroup", g.workgroup, 1, 1024));
  KS_RETURN_IF_ERROR(Within("tenants", g.tenants, 1, g.slots - 1));
  KS_RETURN_IF_ERROR(Within("batches", g.batches, 1, std::min(kMaxBatches, g.slots)));
  KS_RETURN_IF_ERROR(Within("batch_bytes", g.batch_bytes, kMinBatchBytes, kMaxBatchBytes));
  KS_RETURN_IF_ERROR(Within("table_bytes", g.table_bytes, kMinTableBytes, kMaxTableBytes));
  KS_RETURN_IF_ERROR(Within("hits_per_batch", g.hits_per_batch, 1, kMaxHitsPerBatch));
  if (g.slots % g.workgroup != 0 && g.workgroup % g.slots != 0) {
    return absl::InvalidArgumentError(Cat("geometry.slots is ", g.slots, " and geometry.workgroup ",
                                          g.workgroup,
                                          "; one must be a whole multiple of the other"));
  }
  return absl::OkStatus();
}

absl::Status CheckDevice(const Geometry& g, const Layout& layout, const backends::Limits& limits,
                         backends::BackendKind backend) {
  // A host image has one invocation a workgroup, whatever the geometry says.
  if (backend != backends::BackendKind::kCpu && limits.max_workgroup_size != 0) {
    KS_RETURN_IF_ERROR(Within("workgroup", g.workgroup, 1, limits.max_workgroup_size));
  }
  if (limits.max_buffer_bytes == 0) return absl::OkStatus();
  const uint64_t most = limits.max_buffer_bytes;
  KS_RETURN_IF_ERROR(Within("batch_bytes", layout.text_buffer_bytes, 0, most));
  KS_RETURN_IF_ERROR(Within("table_bytes", g.table_bytes, 0, most));
  return Within("hits_per_batch (in bytes)", uint64_t{g.hits_per_batch} * KS_HIT_WORDS * 4, 0,
                most);
}

// Room to grow to: sixteen times the first capacity, and never less than what one byte of text can
// yield, since a replay cannot cut finer than that.
uint32_t MaxHits(const Geometry& g, const backends::Limits& limits) {
  uint64_t most = std::max<uint64_t>(uint64_t{g.hits_per_batch} * 16, kMaxLiterals);
  if (limits.max_buffer_bytes != 0) {
    most = std::min(most, limits.max_buffer_bytes / (KS_HIT_WORDS * 4));
  }
  most = std::min<uint64_t>(most, kMaxHitsPerBatch);
  return static_cast<uint32_t>(std::max<uint64_t>(most, g.hits_per_batch));
}

// Mesa's software rasteriser leaves a loop, and says nothing, once a subgroup has made 65,535 turns
// in all its loops together. The invocations of a subgroup take their turns together, so one of
// them may make only its share of that.
uint32_t StepLimit(const backends::Limits& limits, const backends::Identity& identity) {
  if (identity.backend != backends::BackendKind::kVulkan || !identity.software) return 0;
  constexpr uint32_t kSubgroupTurns = 60000;  // what is left goes to loading the filter
  return kSubgroupTurns / std::max(limits.subgroup_size, 8u);
}

// A host kernel scans a whole slot at a time and pays for each beginning: some slots a thread share
// the work out evenly enough.
uint32_t SlotsPerBatch(const Geometry& g, const backends::Limits& limits,
                       backends::BackendKind backend) {
  constexpr uint32_t kSlotsPerThread = 8;
  uint32_t slots = g.slots / g.batches;
  if (backend == backends::BackendKind::kCpu && limits.multiprocessors != 0) {
    slots = std::min(slots, limits.multiprocessors * kSlotsPerThread);
  }
  return std::clamp(slots, 1u, g.slots - g.tenants);
}

}  // namespace

absl::StatusOr<Layout> LayOut(const Geometry& g, const backends::Limits& limits,
                              const backends::Identity& identity) {
  KS_RETURN_IF_ERROR(CheckFields(g));
  Layout layout;
  const uint32_t fixed = KS_CTL_TENANTS_AT + KS_TENANT_ARRAYS * g.tenants;
  layout.ring_at = (fixed + KS_SLOT_WORDS - 1) / KS_SLOT_WORDS * KS_SLOT_WORDS;
  layout.control_words = layout.ring_at + g.slots * KS_SLOT_WORDS;
  layout.slots_per_batch = SlotsPerBatch(g, limits, identity.backend);
  layout.max_pieces =
      static_cast<uint32_t>(std::clamp<uint64_t>(g.batch_bytes / 64, kMinPieces, kMaxPieces));
  layout.text_buffer_bytes = (KS_TEXT_LEAD + g.batch_bytes + KS_TEXT_SLACK + 15) / 16 * 16;
  layout.tiles = static_cast<uint32_t>((KS_TEXT_LEAD + g.batch_bytes + (1u << KS_TILE_SHIFT) - 1) >>
                                       KS_TILE_SHIFT);
  layout.blob_words = layout.max_pieces * KS_BLOB_WORDS + layout.tiles + 1;
  layout.table_words = static_cast<uint32_t>(g.table_bytes / 4);
  layout.max_hits = MaxHits(g, limits);
  layout.step_limit = StepLimit(limits, identity);
  KS_RETURN_IF_ERROR(CheckDevice(g, layout, limits, identity.backend));
  return layout;
}

}  // namespace keysieve::megakernel
