// SPDX-License-Identifier: MIT
// A program that stays: one thread waits for a word to change, adds up the words that were copied
// before it, answers in memory the host sees, and leaves when the word is 0xFFFFFFFF.
//   bindings: bell (word), data (64 words), answers (host memory); constants: none.
#include "backends/cuda/calling_convention.h"

extern "C" __global__ void resident(volatile uint32_t* bell, volatile uint32_t* data,
                                    volatile uint32_t* answers, keysieve::backends::CudaConstants) {
  uint32_t served = 0;
  while (true) {
    const uint32_t word = *bell;
    if (word == 0xFFFFFFFFu) return;
    if (word == served) continue;
    __threadfence();
    uint32_t sum = 0;
    for (uint32_t i = 0; i < 64; ++i) sum += data[i];
    answers[1] = sum;
    __threadfence_system();
    answers[0] = word;
    served = word;
  }
}
