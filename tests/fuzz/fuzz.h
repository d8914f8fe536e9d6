// SPDX-License-Identifier: MIT
// What the fuzz targets share. A target is one function over bytes that ends the program if what
// must hold does not; libFuzzer drives it in the long run (tests/long/fuzz), replay.cc over the
// kept seeds and crashes in every test run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

// Not an assert: it holds in every build.
#define KS_MUST(condition)                                                 \
  do {                                                                     \
    if (!(condition)) {                                                    \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                        \
    }                                                                      \
  } while (false)
