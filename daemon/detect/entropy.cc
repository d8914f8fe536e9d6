// SPDX-License-Identifier: MIT
// One pass that counts, one that sums.
#include "daemon/detect/entropy.h"

#include <array>
#include <cmath>
#include <cstdint>

namespace keysieve::detect {

double ShannonEntropy(std::string_view bytes) {
  if (bytes.empty()) return 0;
  std::array<uint64_t, 256> counts{};
  for (unsigned char c : bytes) ++counts[c];
  const double total = static_cast<double>(bytes.size());
  double entropy = 0;
  for (uint64_t count : counts) {
    if (count == 0) continue;
    const double share = static_cast<double>(count) / total;
    entropy -= share * std::log2(share);
  }
  return entropy;
}

}  // namespace keysieve::detect
