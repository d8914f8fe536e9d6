// SPDX-License-Identifier: MIT
// Linked in place of the cuda backend where the build has none.
#include "backends/entry.h"

namespace keysieve::backends {

BackendEntry CudaEntry() { return AbsentEntry<BackendKind::kCuda>(); }

}  // namespace keysieve::backends
