// SPDX-License-Identifier: MIT
// How unpredictable a secret's bytes are: Shannon's entropy, in bits a byte, from 0 ("aaaa") to 8.
#pragma once

#include <string_view>

namespace keysieve::detect {

// Sums in byte order, so the same bytes give the same double everywhere. 0 for empty text.
double ShannonEntropy(std::string_view bytes);

}  // namespace keysieve::detect
