// SPDX-License-Identifier: MIT
// Values that settings are made of: sizes with units, listen addresses, and the nearest known name
// for a misspelt one. Pure functions; messages say what was expected.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace keysieve::config {

// "4096", "64KiB", "64 MiB", "1GiB" -> bytes. INVALID_ARGUMENT otherwise.
absl::StatusOr<uint64_t> ParseSize(std::string_view text);
// 67108864 -> "64 MiB"; sizes that are no whole unit stay bytes.
std::string FormatSize(uint64_t bytes);

// "unix:/run/keysieve.sock" has a path; "127.0.0.1:50051" and "[::1]:0" have host and port.
struct Address {
  std::string path;  // absolute, empty for TCP
  std::string host;
  uint16_t port = 0;  // 0 = any free one
  bool is_unix() const { return !path.empty(); }
  std::string ToString() const;
};
absl::StatusOr<Address> ParseAddress(std::string_view text);

// The candidate fewest edits away, if it is near enough to be meant.
std::optional<std::string> Nearest(std::string_view word, std::span<const std::string> candidates);

}  // namespace keysieve::config
