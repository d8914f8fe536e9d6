// SPDX-License-Identifier: MIT
// The digest that names a table: SHA-256 over its little-endian words, in lower-case hex.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "absl/status/statusor.h"

namespace keysieve::megakernel {

// INTERNAL if the crypto library has no SHA-256.
absl::StatusOr<std::string> DigestWords(std::span<const uint32_t> words);

}  // namespace keysieve::megakernel
