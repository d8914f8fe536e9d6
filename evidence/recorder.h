// SPDX-License-Identifier: MIT
// The keeper of all accelerator evidence: one ledger a device, the contexts of profiled scans, and
// the bounded set of what was said once. Passed in where it is needed; there is no global one. It
// never talks to a device, a log or a network; the CPU route has no ledger here.
//
//   Recorder recorder({});
//   DeviceLedger* ledger = *recorder.RegisterDevice(Accelerator::kVulkan, 0, identity, flags);
//   ContextId scan = *recorder.OpenContext();
//   ledger->Bind({&scan, 1});  // then the work
//   ContextRecord record = *recorder.CloseContext(scan);
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "evidence/base/mutex.h"
#include "evidence/context_pool.h"
#include "evidence/device_ledger.h"
#include "evidence/once_set.h"

namespace keysieve::evidence {

class Recorder {
 public:
  struct Options {
    std::size_t contexts = 256;        // profiled scans open at once
    std::size_t devices = 64;          // over all backends
    std::size_t once_capacity = 8192;  // identities and gaps remembered at once
  };

  explicit Recorder(const Options& options);

  // The ledger of (accelerator, index), valid as long as the recorder. Registering records nothing:
  // a device shows only once it is used. Asked again with the same identity and capabilities (a
  // device opened anew) it is the same ledger. Any thread.
  // INVALID_ARGUMENT for an unknown accelerator or an index outside 0..65535; ALREADY_EXISTS if the
  // place belongs to another device; RESOURCE_EXHAUSTED if there are too many devices.
  absl::StatusOr<DeviceLedger*> RegisterDevice(Accelerator accelerator, int index,
                                               DeviceIdentity identity,
                                               CapabilityFlags capabilities);

  // A context for one profiled scan. RESOURCE_EXHAUSTED if too many are open. Any thread.
  absl::StatusOr<ContextId> OpenContext();
  // Ends it and hands over what was recorded under it. NOT_FOUND if it is not open.
  absl::StatusOr<ContextRecord> CloseContext(ContextId id);

  // Copies of every ledger, by accelerator and index. Any thread.
  std::vector<DeviceSnapshot> Snapshot() const;

  // Identities and gaps that did not fit so far, over all devices; whoever logs them gives this
  // running count.
  uint64_t once_losses() const { return said_.losses(); }

 private:
  const Options options_;
  OnceSet said_;
  ContextPool contexts_;
  mutable Mutex mutex_;
  std::vector<std::unique_ptr<DeviceLedger>> ledgers_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace keysieve::evidence
