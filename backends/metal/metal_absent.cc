// SPDX-License-Identifier: MIT
// Linked in place of the metal backend where the build has none.
#include "backends/entry.h"

namespace keysieve::backends {

BackendEntry MetalEntry() { return AbsentEntry<BackendKind::kMetal>(); }

}  // namespace keysieve::backends
