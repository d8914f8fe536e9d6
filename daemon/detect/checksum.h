// SPDX-License-Identifier: MIT
// Checksums that some providers put into their tokens. One that holds says that the token was
// issued, since nobody types one; one that fails says that it is an invention or was mistyped. The
// finding is reported either way and says which: a scanner that drops what does not add up loses
// what a later change of the format does.
//
//   TagOf(CheckToken(Checksum::kCrc32Base62, token));  // "checksum:valid"
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace keysieve::detect {

enum class Checksum : uint8_t {
  kNone,
  kCrc32Base62,  // GitHub's and npm's: a prefix to the first '_', the text, its CRC-32 in six
                 // digits
  kBech32,       // age's: BIP 173
};

enum class ChecksumResult : uint8_t { kUnchecked, kValid, kInvalid };

// "crc32-base62", "bech32"; nothing for other names.
std::optional<Checksum> ChecksumOfName(std::string_view name);

// kUnchecked for kNone, and for a token whose shape has no place for the checksum.
ChecksumResult CheckToken(Checksum checksum, std::string_view token);

// "checksum:valid", "checksum:invalid", or "" for kUnchecked.
const char* TagOf(ChecksumResult result);

}  // namespace keysieve::detect
