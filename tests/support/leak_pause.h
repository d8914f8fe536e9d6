// SPDX-License-Identifier: MIT
// While one lives, LeakSanitizer does not mind what is left behind; without it, nothing happens.
// For tests of an abandoned device, which leaves its handles on purpose.
#pragma once

extern "C" {
void __lsan_disable() __attribute__((weak));  // NOLINT: the sanitizer's own names
void __lsan_enable() __attribute__((weak));   // NOLINT
}

namespace keysieve::test {

class LeakPause {
 public:
  LeakPause() {
    if (__lsan_disable != nullptr) __lsan_disable();
  }
  ~LeakPause() {
    if (__lsan_enable != nullptr) __lsan_enable();
  }
  LeakPause(const LeakPause&) = delete;
  LeakPause& operator=(const LeakPause&) = delete;
};

}  // namespace keysieve::test
