// SPDX-License-Identifier: MIT
// A line on the terminal that shows how far a run is, redrawn by a thread of its own and wiped at
// the end.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <thread>

#include "daemon/client/board.h"
#include "evidence/base/mutex.h"

namespace keysieve::client {

// The line's text, without control characters.
std::string ProgressLine(const Progress& progress, uint64_t blobs, uint64_t bytes);

class ProgressBar {
 public:
  // Draws to `err`, which nobody else uses meanwhile; nullptr: draws nothing.
  ProgressBar(std::ostream* err, const Progress& progress, uint64_t blobs, uint64_t bytes);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

 private:
  void Draw(const Progress& progress, uint64_t blobs, uint64_t bytes);

  std::ostream* err_;
  Mutex mutex_;
  CondVar changed_;
  bool done_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace keysieve::client
