// SPDX-License-Identifier: MIT
// A finding's lasting name: `k<keyid>:` and 20 characters of base32 over an HMAC of rule and
// secret. No place in it, so a secret that moves keeps its name and another secret in its place is
// new; and keyed, so that nobody without the key can try guesses against a published report.
//
//   Fingerprinter name(options.fingerprint);
//   name.Of("github-pat", secret);  // "k0:abcdefghij234567klmn"
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "daemon/detect/rule_set.h"

namespace keysieve::detect {

inline constexpr size_t kFingerprintCharacters = 20;  // after the colon
inline constexpr char kPublishedKeyId[] = "0";        // of the constant used when no key is set

// Immutable; thread-safe.
class Fingerprinter {
 public:
  explicit Fingerprinter(const FingerprintKeys& keys);

  // Under the current key.
  std::string Of(std::string_view rule, std::string_view secret) const;

  // Under every key, the current one first: a baseline written under a previous key still holds.
  std::vector<std::string> AllOf(std::string_view rule, std::string_view secret) const;

  // Is there a key of that id?
  bool Knows(std::string_view key_id) const;

  // Is the published constant in use? Then fingerprints hide nothing from someone who guesses.
  bool published() const { return published_; }

 private:
  std::vector<FingerprintKeys::Key> keys_;
  bool published_ = false;
};

}  // namespace keysieve::detect
