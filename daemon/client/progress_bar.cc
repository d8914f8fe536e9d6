// SPDX-License-Identifier: MIT
// Nothing is drawn in the first moments: a short scan leaves the terminal alone.
#include "daemon/client/progress_bar.h"

#include <algorithm>
#include <chrono>

#include "daemon/client/units.h"
#include "evidence/base/status.h"

namespace keysieve::client {
namespace {

constexpr std::chrono::milliseconds kPeriod{150};
constexpr uint64_t kBarWidth = 24;

}  // namespace

std::string ProgressLine(const Progress& progress, uint64_t blobs, uint64_t bytes) {
  const uint64_t settled = progress.blobs_settled.load(std::memory_order_relaxed);
  const uint64_t sent = std::min(bytes, progress.bytes_sent.load(std::memory_order_relaxed));
  const double part = bytes > 0   ? static_cast<double>(sent) / static_cast<double>(bytes)
                      : blobs > 0 ? static_cast<double>(settled) / static_cast<double>(blobs)
                                  : 1.0;
  const auto filled = static_cast<size_t>(part * kBarWidth);
  return Cat("[", std::string(filled, '#'), std::string(kBarWidth - filled, '.'), "] ", settled,
             "/", CountText(blobs, "file"), "  ", BytesText(sent), " of ", BytesText(bytes), "  ",
             progress.findings.load(std::memory_order_relaxed), " found");
}

ProgressBar::ProgressBar(std::ostream* err, const Progress& progress, uint64_t blobs,
                         uint64_t bytes)
    : err_(err) {
  if (err_ == nullptr) return;
  thread_ = std::thread([this, &progress, blobs, bytes] { Draw(progress, blobs, bytes); });
}

void ProgressBar::Draw(const Progress& progress, uint64_t blobs, uint64_t bytes) {
  constexpr char kClearLine[] = "\r\x1b[K";
  bool drawn = false;
  auto next = std::chrono::steady_clock::now() + 3 * kPeriod;
  MutexLock lock(mutex_);
  while (!done_) {
    if (changed_.WaitUntil(mutex_, next)) continue;
    *err_ << kClearLine << ProgressLine(progress, blobs, bytes) << std::flush;
    drawn = true;
    next += kPeriod;
  }
  if (drawn) *err_ << kClearLine << std::flush;
}

ProgressBar::~ProgressBar() {
  if (!thread_.joinable()) return;
  {
    MutexLock lock(mutex_);
    done_ = true;
    changed_.NotifyAll();
  }
  thread_.join();
}

}  // namespace keysieve::client
