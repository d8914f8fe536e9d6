// SPDX-License-Identifier: MIT
// Down the steps until one holds; see open_ladder.h.
#include "daemon/scheduler/open_ladder.h"

#include <algorithm>

#include "evidence/base/status.h"

namespace keysieve::scheduler {
namespace {

using megakernel::Geometry;

constexpr uint32_t kLeastBatches = 2;  // so that copies and scanning still overlap
constexpr uint64_t kLeastBatchBytes = 1 << 20;
constexpr uint32_t kLeastHits = 1 << 14;
constexpr uint64_t kLeastTableBytes = 4 << 20;

template <typename T>
T Halved(T value, T least) {
  return std::max(value / 2, std::min(value, least));
}

std::string Describe(const Geometry& geometry) {
  return Cat(geometry.batches, " batches of ", geometry.batch_bytes, " bytes with ",
             geometry.hits_per_batch, " hits each, tables of ", geometry.table_bytes, " bytes");
}

}  // namespace

std::vector<Geometry> GeometrySteps(const Geometry& asked) {
  std::vector<Geometry> steps = {asked};
  for (;;) {
    Geometry next = steps.back();
    const Geometry before = next;
    next.batches = Halved(next.batches, kLeastBatches);
    next.batch_bytes = Halved(next.batch_bytes, kLeastBatchBytes);
    next.hits_per_batch = Halved(next.hits_per_batch, kLeastHits);
    const bool smaller = next.batches < before.batches || next.batch_bytes < before.batch_bytes ||
                         next.hits_per_batch < before.hits_per_batch;
    if (!smaller) next.table_bytes = Halved(next.table_bytes, kLeastTableBytes);
    if (!smaller && next.table_bytes == before.table_bytes) return steps;
    steps.push_back(next);
  }
}

absl::StatusOr<std::unique_ptr<megakernel::Session>> OpenSession(
    backends::Device& device, const megakernel::SessionOptions& options,
    const std::function<void(const std::string&)>& say) {
  const backends::Identity& id = device.identity();
  const std::string name = Cat(backends::BackendName(id.backend), ":", id.index);
  const std::vector<Geometry> steps = GeometrySteps(options.geometry);
  megakernel::SessionOptions smaller = options;
  absl::Status last;
  for (size_t i = 0; i < steps.size(); ++i) {
    smaller.geometry = steps[i];
    auto session = megakernel::Session::Open(device, smaller);
    if (session.ok()) {
      if (i > 0 && say) say(Cat(name, " is open with ", Describe(steps[i])));
      return session;
    }
    last = session.status();
    if (!absl::IsResourceExhausted(last)) return last;
    if (say) say(Cat(name, " has no memory for ", Describe(steps[i]), ": ", Message(last)));
  }
  return absl::ResourceExhaustedError(
      Cat(name, " has not even memory for ", Describe(steps.back()), ": ", Message(last)));
}

}  // namespace keysieve::scheduler
