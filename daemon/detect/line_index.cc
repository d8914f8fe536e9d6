// SPDX-License-Identifier: MIT
// The lines' starts in one vector; questions are binary searches in it.
#include "daemon/detect/line_index.h"

#include <algorithm>

namespace keysieve::detect {

void LineIndex::Build() {
  starts_.push_back(0);
  const size_t size = text_.size();
  for (size_t i = 0; i < size; ++i) {
    const char c = text_[i];
    if (c > '\r') [[likely]]
      continue;
    const bool lone_cr = c == '\r' && (i + 1 == size || text_[i + 1] != '\n');
    if (c == '\n' || lone_cr) starts_.push_back(i + 1);
  }
}

size_t LineIndex::Position(uint64_t offset) {
  if (starts_.empty()) Build();
  return std::upper_bound(starts_.begin(), starts_.end(), offset) - starts_.begin() - 1;
}

uint32_t LineIndex::LineOf(uint64_t offset) { return static_cast<uint32_t>(Position(offset) + 1); }

uint32_t LineIndex::ColumnOf(uint64_t offset) {
  const size_t line = Position(offset);
  return static_cast<uint32_t>(offset - starts_[line] + 1);
}

std::string_view LineIndex::LinesOf(uint64_t start, uint64_t end) {
  const size_t line = Position(start);
  const uint64_t first = starts_[line];
  const size_t last = Position(end > start ? end - 1 : end);
  uint64_t stop = last + 1 < starts_.size() ? starts_[last + 1] : text_.size();
  if (last + 1 < starts_.size()) {
    if (stop > first && text_[stop - 1] == '\n') --stop;
    if (stop > first && text_[stop - 1] == '\r') --stop;
  }
  return text_.substr(first, stop - first);
}

}  // namespace keysieve::detect
