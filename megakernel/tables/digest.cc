// SPDX-License-Identifier: MIT
#include "megakernel/tables/digest.h"

#include <openssl/evp.h>

#include <bit>

namespace keysieve::megakernel {

static_assert(std::endian::native == std::endian::little, "table words are hashed as they lie");

absl::StatusOr<std::string> DigestWords(std::span<const uint32_t> words) {
  unsigned char sum[EVP_MAX_MD_SIZE];
  unsigned int length = 0;
  if (EVP_Digest(words.data(), words.size_bytes(), sum, &length, EVP_sha256(), nullptr) != 1) {
    return absl::InternalError("SHA-256 is not available in the crypto library");
  }
  constexpr char kHex[] = "0123456789abcdef";
  std::string hex;
  for (unsigned int i = 0; i < length; ++i) {
    hex += kHex[sum[i] >> 4];
    hex += kHex[sum[i] & 15];
  }
  return hex;
}

}  // namespace keysieve::megakernel
