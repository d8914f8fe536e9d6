// SPDX-License-Identifier: MIT
// How often bytes occur in source text after folding with | 0x20, as parts of 65,536 (at least 1).
// Measured once on 164 MB of headers, scripts and text of a Debian system and frozen: window
// choice, and so every table, depends on it.
#pragma once

#include <array>
#include <cstdint>

namespace keysieve::megakernel {

inline constexpr std::array<uint16_t, 95> kPrintableProfile = {
    // 0x20 space and punctuation
    11737, 21, 240, 336, 77, 12, 48, 290, 739, 967, 2431, 33, 697, 399, 395, 486,
    // 0x30 digits and punctuation
    514, 332, 257, 154, 124, 186, 129, 93, 122, 171, 297, 288, 94, 220, 137, 10,
    // 0x40 never occurs after folding
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
    // 0x60 letters
    68, 2473, 634, 2004, 1598, 4879, 1261, 746, 901, 2818, 63, 601, 1930, 1023, 2896, 2461, 1523,
    74, 2556, 3312, 3569, 1131, 477, 290, 531, 569, 84, 162, 128, 162, 16};
inline constexpr uint16_t kUnderscoreProfile = 2509;  // 0x5f folds to 0x7f

// `folded` has bit 5 set.
constexpr uint64_t ByteProfile(uint8_t folded) {
  if (folded == 0x7f) return kUnderscoreProfile;
  if (folded >= 0x20 && folded < 0x7f) return kPrintableProfile[folded - 0x20];
  return 2;
}

}  // namespace keysieve::megakernel
