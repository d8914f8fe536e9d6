// SPDX-License-Identifier: MIT
// HMAC-SHA256 from OpenSSL, base32 of our own.
#include "daemon/detect/fingerprint.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <array>
#include <cstdint>

namespace keysieve::detect {
namespace {

// Not a secret: it stands here for everyone to read, and its id, 0, says that it was used.
constexpr char kPublishedKey[] = "keysieve published fingerprint key";

using Digest = std::array<uint8_t, 32>;

Digest Hmac(const std::string& key, const std::string& message) {
  Digest digest{};
  unsigned int length = 0;
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
       reinterpret_cast<const unsigned char*>(message.data()), message.size(), digest.data(),
       &length);
  return digest;
}

// RFC 4648's alphabet in lower case, the first kFingerprintCharacters of it.
std::string Base32(const Digest& digest) {
  constexpr char kAlphabet[] = "abcdefghijklmnopqrstuvwxyz234567";
  std::string out;
  uint32_t bits = 0;
  int held = 0;
  for (uint8_t byte : digest) {
    bits = bits << 8 | byte;
    held += 8;
    while (held >= 5 && out.size() < kFingerprintCharacters) {
      held -= 5;
      out += kAlphabet[bits >> held & 31];
    }
  }
  return out;
}

std::string Name(const FingerprintKeys::Key& key, std::string_view rule, std::string_view secret) {
  std::string message(rule);
  message += '\0';
  message += secret;
  std::string name = "k" + key.id + ":" + Base32(Hmac(key.secret, message));
  OPENSSL_cleanse(message.data(), message.size());
  return name;
}

}  // namespace

Fingerprinter::Fingerprinter(const FingerprintKeys& keys) : keys_(keys.keys) {
  published_ = keys_.empty();
  if (published_) keys_.push_back({kPublishedKeyId, kPublishedKey});
}

bool Fingerprinter::Knows(std::string_view key_id) const {
  return std::any_of(keys_.begin(), keys_.end(),
                     [&](const FingerprintKeys::Key& key) { return key.id == key_id; });
}

std::string Fingerprinter::Of(std::string_view rule, std::string_view secret) const {
  return Name(keys_.front(), rule, secret);
}

std::vector<std::string> Fingerprinter::AllOf(std::string_view rule,
                                              std::string_view secret) const {
  std::vector<std::string> names;
  names.reserve(keys_.size());
  for (const FingerprintKeys::Key& key : keys_) names.push_back(Name(key, rule, secret));
  return names;
}

}  // namespace keysieve::detect
