// SPDX-License-Identifier: MIT
// Where a blob's lines begin. A line ends at \n, at \r\n or at a lone \r, and owns the bytes that
// end it. Built at the first question, so that a blob without findings never pays for it.
//
//   LineIndex lines(bytes);
//   lines.LineOf(offset);    // 1-based
//   lines.ColumnOf(offset);  // 1-based, in bytes
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace keysieve::detect {

// Borrows the text. One thread.
class LineIndex {
 public:
  explicit LineIndex(std::string_view text) : text_(text) {}

  uint32_t LineOf(uint64_t offset);
  uint32_t ColumnOf(uint64_t offset);

  // The whole lines that [start, end) touches, without the last one's line end. An empty range
  // touches the line it stands in.
  std::string_view LinesOf(uint64_t start, uint64_t end);

 private:
  void Build();
  size_t Position(uint64_t offset);  // 0-based line

  std::string_view text_;
  std::vector<uint64_t> starts_;  // of every line; empty until built
};

}  // namespace keysieve::detect
