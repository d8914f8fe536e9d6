// SPDX-License-Identifier: MIT
// Numbers as people read them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace keysieve::client {

std::string BytesText(uint64_t bytes);                         // "999 B", "1.2 MB": powers of 1,000
std::string SecondsText(double seconds);                       // "0.41 s", "2 min 5 s"
std::string CountText(uint64_t count, std::string_view noun);  // "1 file", "2 matches"

}  // namespace keysieve::client
