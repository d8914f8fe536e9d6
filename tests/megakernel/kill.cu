// SPDX-License-Identifier: MIT
// The tuned program as a test breaks it: a slot whose text begins with one word traps, with another
// never ends.
#include <cstdint>

#define KS_TUNED_BEFORE(work)                                                     \
  do {                                                                            \
    const uint32_t* first = reinterpret_cast<const uint32_t*>((work)->text + 16); \
    const uint32_t order = *const_cast<const volatile uint32_t*>(first);          \
    if (order == 0x50415254u) __trap();             /* "TRAP" */                  \
    while (order == 0x474e4148u) __nanosleep(1000); /* "HANG" */                  \
  } while (false)

#include "megakernel/images/tuned.cu"
