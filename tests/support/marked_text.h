// SPDX-License-Identifier: MIT
// For devices that a test breaks from outside: the order that stands in the text they are sent.
#pragma once

#include <string_view>

#include "backends/device.h"

namespace keysieve::test {

// The lower-case word right after `marker` in the text that is uploaded; empty if there is none.
// Borrowed from the submission's pinned memory.
inline std::string_view WordAfter(std::string_view marker, const backends::Submission& submission) {
  for (const backends::Copy& copy : submission.uploads) {
    if (copy.traffic != evidence::Traffic::kText || copy.from.bytes == 0) continue;
    const std::string_view text(
        reinterpret_cast<const char*>(copy.from.buffer->host()) + copy.from.offset,
        copy.from.bytes);
    const size_t at = text.find(marker);
    if (at == std::string_view::npos) continue;
    const std::string_view word = text.substr(at + marker.size());
    return word.substr(0, word.find_first_not_of("abcdefghijklmnopqrstuvwxyz"));
  }
  return {};
}

}  // namespace keysieve::test
