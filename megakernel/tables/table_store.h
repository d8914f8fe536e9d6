// SPDX-License-Identifier: MIT
// Compiled tables kept on disk, a file a literal list. A file is believed only if its digest, its
// validity and its literals are right; anything else is compiled again and replaced.
//
//   auto stored = CompileOrLoad(literals, "/var/cache/keysieve");
//   if (stored.ok() && !stored->from_disk) ...   // compiled now, and written for the next time
#pragma once

#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "megakernel/table.h"

namespace keysieve::megakernel {

struct Stored {
  Table table;
  bool from_disk = false;
  std::string note;  // why nothing was written, one sentence; empty if all went well
};

// CompileTable()'s table and errors. `directory` empty: nothing is kept. A file that cannot be
// written is no error. Files are the caller's alone (0600) and appear whole or not at all. Any
// thread, any process.
absl::StatusOr<Stored> CompileOrLoad(std::span<const Literal> literals,
                                     const std::string& directory);

// Where CompileOrLoad() keeps the table of `literals`.
absl::StatusOr<std::string> StoredTablePath(std::span<const Literal> literals,
                                            const std::string& directory);

}  // namespace keysieve::megakernel
